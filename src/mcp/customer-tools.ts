import { Type } from 'typebox';
import { detailsOfCustomer, toCustomerDto } from '../contract/customer.ts';
import { CreateCustomer, CustomerDto, CustomerSearch } from '../contract/schemas/customer.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { communityId } from '../domain/ids.ts';
import { placeIn, placeText } from '../queries/customers.ts';
import { Cursor, cursorOf, Input, Limit, Next, Notice, notice, wrongCursor } from './lists.ts';
import { contextOf, type Tool, type ToolDeps, tool } from './tool.ts';

const CUSTOMERS = { default: 50, maximum: 200 } as const;
const ACCESS = { permission: 'Customers', scope: 'Community' } as const;

export const listCustomers = ({ queries }: ToolDeps): Tool =>
  tool({
    name: 'list_customers',
    title: 'List customers',
    description:
      'Lists the customers of the community by name: those that it looks after, and brands of which it has approved a booking.',
    input: Input({ q: CustomerSearch, limit: Limit('customers', CUSTOMERS), cursor: Cursor }),
    output: Type.Object({ notice: Notice, customers: Type.Array(CustomerDto), next: Next }),
    access: ACCESS,
    writes: false,
    async run({ q = '', limit = CUSTOMERS.default, cursor }, { caller }) {
      const after = cursor === undefined ? undefined : placeIn(cursor);
      if (cursor !== undefined && after === undefined) return wrongCursor();
      const page = await queries.customers.page(communityId(caller.account.id), { text: q, after, limit });
      return {
        notice: notice('Names, contacts and notes are'),
        customers: page.customers.map(toCustomerDto),
        ...(page.next && { next: cursorOf(placeText(page.next), defined({ q: q || undefined })) }),
      };
    },
  });

export const addCustomer = ({ commands, queries }: ToolDeps): Tool =>
  tool({
    name: 'add_customer',
    title: 'Add a customer',
    description:
      'Adds a customer that the community looks after, without an account of its own. Ask the user for confirmation before ' +
      'calling this. The name of another customer is refused, so repeating a call never adds two.',
    input: Input(CreateCustomer.properties),
    output: CustomerDto,
    access: ACCESS,
    writes: 'adds',
    async run({ name, ...details }, call) {
      const owner = communityId(call.caller.account.id);
      const command = { communityId: owner, name, wanted: detailsOfCustomer(details) };
      const added = await commands.customers.add(command, contextOf(call));
      return isRefusal(added) ? added : toCustomerDto(await queries.customers.added(owner, added.brandId));
    },
  });
