import type { ApiKeyDocument } from '../../../projections/api-keys.ts';
import type { AccountKind } from '../../domain/account.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { Timestamp } from '../../domain/ids.ts';
import { LABEL } from '../../domain/limits.ts';
import { Permission, type PermissionName, permissionNames, usablePermissions } from '../../domain/permissions.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import {
  choices,
  confirm,
  csrfField,
  field,
  formProblem,
  NO_PROBLEMS,
  onceField,
  type Problems,
  problemOf,
  statusOf,
} from '../parts/fields.ts';
import { counted, fromNow } from '../parts/formats.ts';
import { moment } from '../parts/moments.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { secretBox } from '../parts/secret.ts';
import { type Answer, missing, type Routes, type Visit } from '../parts/visit.ts';
import { historyOfAll } from './history.ts';

/** Names and descriptions of the permissions. */
const PERMISSION_LABELS: Readonly<Record<PermissionName, { readonly label: string; readonly hint: string }>> = {
  ReadAvailability: { label: 'View availability', hint: 'See which start times of a space are available on a day.' },
  ReadBookings: { label: 'View bookings', hint: 'List the bookings that this account can see, with their history.' },
  WriteBookings: { label: 'Request bookings', hint: 'Send booking requests on behalf of this brand.' },
  ReadReviews: { label: 'View reviews', hint: 'Read reviews of communities.' },
  Webhooks: {
    label: 'Manage webhooks',
    hint: 'Register and remove endpoints that receive booking and review events.',
  },
};

const offered = (kind: AccountKind): PermissionName[] => permissionNames(usablePermissions(kind));

/** API keys: creating one with chosen permissions, which shows it once, listing and revoking them. */
export function apiKeyPages(routes: Routes, { commands, queries, apiKeyUsage, settings }: PageDeps): void {
  routes.get('/console/keys', (visit) => listPage(visit));

  routes.post('/console/keys', (visit) =>
    visit.once(async () => {
      const { account, form, context } = visit;
      const label = form.text('label');
      const chosen = form.all('permission');
      const permissions = offered(account.kind)
        .filter((name) => chosen.includes(name))
        .reduce((mask, name) => mask | Permission[name], 0);
      const outcome = await commands.apiKeys.issue({ account, permissions, label }, context);
      if (isRefusal(outcome)) return listPage(visit, problemOf(outcome, LABELS, CHOOSE));
      return {
        title: 'New API key',
        section: 'keys',
        main: html`${backLink}<h1>API key “${named(label)}” created</h1>
${secretBox('key', outcome.key, 'Copy the key now and store it like a password. It will not be shown again, and anyone who has it can do what you allowed.')}
<div class="card"><h2>Try it</h2><pre>curl -H 'Authorization: Bearer ${outcome.key}' \\
  '${settings.publicUrl}/api/v1/bookings'</pre></div><p><a class="button" href="/console/keys">I have copied it</a></p>`,
      };
    }),
  );

  routes.post('/console/keys/:id/revoke', async (visit) => {
    const { account, params, context } = visit;
    const outcome = await commands.apiKeys.revoke({ apiKeyId: params.id ?? '', by: account }, context);
    return isRefusal(outcome)
      ? missing('API key')
      : { go: '/console/keys', flash: { kind: 'done', text: 'API key revoked. Requests with it are now rejected.' } };
  });

  async function listPage(visit: Visit, problems: Problems = NO_PROBLEMS): Promise<Answer> {
    const { account, form } = visit;
    const keys = await queries.apiKeys.listOfAccount(account);
    const valid = keys.filter(({ revokedAt }) => revokedAt === undefined);
    const revoked = keys.filter(({ revokedAt }) => revokedAt !== undefined);
    const chosen = form.all('permission');
    const used = await apiKeyUsage.lastUsed(valid.map(({ apiKeyId }) => apiKeyId));
    return {
      title: 'API keys',
      section: 'keys',
      status: statusOf(problems),
      main: html`<div class="head"><div><h1>API keys</h1><p class="lead">API keys let programs act for ${named(visit.accountName)}. A key works until you revoke it. <a href="/docs">API documentation</a>, <a href="${historyOfAll('keys')}">history</a></p></div></div>
<div class="split"><div>${
        valid.length === 0
          ? html`<div class="empty">${icon('key')}<h2>No API keys yet</h2><p>Create one for each program, so that you can revoke it without affecting the others.</p></div>`
          : keyTable(visit, valid, used)
      }${
        revoked.length > 0 &&
        html`<details><summary>${counted(revoked.length, 'revoked key')}</summary><ul class="plain">${revoked.map((key) => html`<li class="muted">${named(key.label)} <code>${key.preview}</code>, revoked ${moment(visit, key.revokedAt ?? key.issuedAt)}</li>`)}</ul></details>`
      }</div>
<div><form class="card fields" method="post" action="/console/keys">${csrfField(visit)}${onceField()}<h2>New API key</h2>${formProblem(problems)}
${field({ name: 'label', label: 'Name', hint: 'What is it for?', value: form.text('label'), required: true, problems, attributes: { maxlength: LABEL.max, autocomplete: 'off' } })}
${choices(
  { name: 'permission', label: 'Permissions', problems },
  'checkbox',
  offered(account.kind).map((name) => ({
    value: name,
    ...PERMISSION_LABELS[name],
    checked: chosen.includes(name),
  })),
)}
<div><button class="button">Create key</button></div></form></div></div>`,
    };
  }
}

const LABELS = { label: 'Name', permissions: 'Permissions' };
const CHOOSE = { permissions: { field: 'permission', text: 'Choose at least one of the permissions.' } };

const keyTable = (visit: Visit, keys: readonly ApiKeyDocument[], used: ReadonlyMap<string, Timestamp>): Html =>
  html`<table class="table"><caption class="visually-hidden">Active API keys</caption><thead><tr><th scope="col">Name</th><th scope="col">Permissions</th><th scope="col">Last used</th><th scope="col"><span class="visually-hidden">Revoke</span></th></tr></thead><tbody>${keys.map(
    (key) =>
      html`<tr><th scope="row" data-label="Name" class="long"><span>${named(key.label)}<br><code class="muted small nowrap">${key.preview}</code></span></th><td data-label="Permissions" class="small"><span>${permissionNames(
        key.permissions,
      )
        .map((name) => PERMISSION_LABELS[name].label)
        .join(
          ', ',
        )}</span></td><td data-label="Last used" class="small"><span>${lastUse(used.get(key.apiKeyId), visit.now)}<br><span class="muted">created ${moment(visit, key.issuedAt)}</span></span></td><td class="actions">${confirm(
        visit,
        {
          action: `/console/keys/${key.apiKeyId}/revoke`,
          open: 'Revoke…',
          question: `Revoke “${namedText(key.label)}”? Programs that use it lose access immediately, and webhooks registered with it receive nothing more. This cannot be undone.`,
          submit: 'Revoke key',
        },
      )}</td></tr>`,
  )}</tbody></table>`;

const lastUse = (usedAt: Timestamp | undefined, now: number): string =>
  usedAt === undefined ? 'never' : fromNow(usedAt, now);

const backLink = html`<p class="back"><a href="/console/keys">${icon('back')} API keys</a></p>`;
