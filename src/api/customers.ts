import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { Commands } from '../commands/commands.ts';
import { detailsOfCustomer, toCustomerDto } from '../contract/customer.ts';
import { CreateCustomer, CustomerDto, CustomersQuery } from '../contract/schemas/customer.ts';
import { errors } from '../contract/schemas/errors.ts';
import { isRefusal } from '../domain/decision.ts';
import { communityId } from '../domain/ids.ts';
import type { Queries } from '../queries/queries.ts';
import { contextOf } from './access.ts';
import { sendRefusal } from './errors.ts';
import { sendList } from './json-array.ts';

export const customerRoutes =
  ({ commands, queries }: { readonly commands: Commands; readonly queries: Queries }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { permission: 'Customers', scope: 'Community' } as const;

    app.get(
      '/customers',
      {
        config: { access },
        schema: {
          operationId: 'listCustomers',
          querystring: CustomersQuery,
          response: { 200: Type.Array(CustomerDto), ...errors() },
        },
      },
      async (request, reply) =>
        sendList(request, reply, {
          pages: queries.customers.pages(communityId(request.caller.account.id), request.query.q ?? ''),
          textsOf: (page) => page.map((customer) => JSON.stringify(toCustomerDto(customer))),
        }),
    );

    app.post(
      '/customers',
      {
        config: { access },
        schema: {
          operationId: 'createCustomer',
          body: CreateCustomer,
          response: { 201: CustomerDto, ...errors() },
        },
      },
      async (request, reply) => {
        const owner = communityId(request.caller.account.id);
        const { name, ...details } = request.body;
        const command = { communityId: owner, name, wanted: detailsOfCustomer(details) };
        const added = await commands.customers.add(command, contextOf(request));
        if (isRefusal(added)) return sendRefusal(reply, added);
        return reply.code(201).send(toCustomerDto(await queries.customers.added(owner, added.brandId)));
      },
    );
  };
