import type { ApiKeyDocument } from '../../../projections/api-keys.ts';
import { PERMISSION_LABELS, permissionsText } from '../../contract/permission-labels.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import type { Timestamp } from '../../domain/ids.ts';
import { Permission, permissionNames, usablePermissions } from '../../domain/permissions.ts';
import { counted, fromNow, moment } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { isUnavailable } from '../../runtime/unavailable.ts';
import { type Answer, done, missing } from '../parts/answer.ts';
import { choices, confirm, maskOf, nameField, onceField, postForm, problemOf } from '../parts/forms.ts';
import { emptyState } from '../parts/frame.ts';
import { historyOfAll } from '../parts/history-links.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { secretPage } from '../parts/secret-page.ts';
import { actionColumn, column, dataTable, rowHeading } from '../parts/tables.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { tryKey } from './try-key.ts';

const PATH = '/console/keys';

const LABELS = { label: 'Name', permissions: 'Permissions' };
const CHOOSE = { permissions: { field: 'permission', text: 'Choose at least one of the permissions.' } };

/** API keys: creating one with chosen permissions, which shows it once, listing and revoking them. */
export function apiKeyPages(routes: Routes, { commands, queries, apiKeyUsage }: PageDeps): void {
  routes.get(PATH, 'Manager', listPage);

  routes.post(PATH, 'Manager', async (visit) => {
    const { account, form, context } = visit;
    const label = form.text('label');
    const permissions = maskOf(form.all('permission'), Permission) & usablePermissions(account.kind);
    const outcome = await commands.apiKeys.issue({ account, permissions, label }, context);
    if (isRefusal(outcome)) return listPage(visit, problemOf(outcome, LABELS, CHOOSE));
    const { key } = outcome;
    // The key is shown only here, so a read that fails must not hide it.
    const more = await tryKey(
      { queries, account, now: visit.now },
      { key, permissions, publicUrl: visit.settings.publicUrl },
    ).catch(withoutIfUnavailable);
    return secretPage({
      title: 'New API key',
      heading: html`API key “${named(label)}” created`,
      back: { href: PATH, label: 'API keys' },
      secret: key,
      advice:
        'Copy the key now and store it like a password. It will not be shown again, and anyone who has it can do what you allowed.',
      ...defined({ more }),
    });
  });

  routes.post(`${PATH}/:id/revoke`, 'Manager', async ({ account, params, context }) => {
    const outcome = await commands.apiKeys.revoke({ apiKeyId: params.id ?? '', by: account }, context);
    return isRefusal(outcome) ? missing('API key') : done(PATH, 'API key revoked. Requests with it are now rejected.');
  });

  async function listPage(visit: Visit, problems: Problems = {}): Promise<Answer> {
    const keys = await queries.apiKeys.listOfAccount(visit.account);
    const active = keys.filter(({ revokedAt }) => revokedAt === undefined);
    const revoked = keys.filter(({ revokedAt }) => revokedAt !== undefined);
    const used = await apiKeyUsage.lastUsed(active.map(({ apiKeyId }) => apiKeyId));
    return {
      title: 'API keys',
      lead: html`API keys let programs act for ${named(visit.accountName)}. A key works until you revoke it.
<a href="/docs">API documentation</a>, <a href="${historyOfAll('keys')}">history</a>`,
      problems,
      main: html`<div class="split"><div>${
        active.length === 0
          ? emptyState('key', 'No API keys yet')`Create one for each program, so that you can revoke it without
affecting the others.`
          : keyTable(visit, active, used)
      }${
        revoked.length > 0 &&
        html`<details><summary>${counted(revoked.length, 'revoked key')}</summary>
<ul class="plain">${revoked.map(
          (key) =>
            html`<li class="muted">${named(key.label)} <code>${key.preview}</code>, revoked
${moment(visit, key.revokedAt ?? key.issuedAt)}</li>`,
        )}</ul></details>`
      }</div>
<div>${newKeyForm(visit, problems)}</div></div>`,
    };
  }
}

function withoutIfUnavailable(error: unknown): undefined {
  if (!isUnavailable(error)) throw error;
}

function newKeyForm(visit: Visit, problems: Problems): Html {
  const { account, form } = visit;
  const chosen = form.all('permission');
  const permissions = permissionNames(usablePermissions(account.kind)).map((name) => ({
    value: name,
    ...PERMISSION_LABELS[name],
    checked: chosen.includes(name),
  }));
  return postForm(visit, PATH, 'card fields')`${onceField()}<h2>New API key</h2>
${nameField(form, problems, 'label', 'What is it for?')}
${choices({ name: 'permission', label: 'Permissions', problems }, 'checkbox', permissions)}
<div><button class="button">Create key</button></div>`;
}

const keyTable = (visit: Visit, keys: readonly ApiKeyDocument[], used: ReadonlyMap<string, Timestamp>): Html =>
  dataTable('Active API keys', keys, [
    rowHeading(
      'Name',
      'long',
      ({ label, preview }) => html`${named(label)}<br><code class="muted small nowrap">${preview}</code>`,
    ),
    {
      label: 'Permissions',
      classes: 'small',
      // A key that the API or the operator issued may hold more than its account can use.
      cell: ({ permissions }) => permissionsText(permissions & usablePermissions(visit.account.kind)),
    },
    column(
      'Last used',
      'small',
      ({ apiKeyId, issuedAt }) =>
        html`${lastUse(used.get(apiKeyId), visit.now)}<br><span class="muted">created ${moment(visit, issuedAt)}</span>`,
    ),
    actionColumn('Revoke', (key) => revokeButton(visit, key)),
  ]);

const lastUse = (usedAt: Timestamp | undefined, now: number): string =>
  usedAt === undefined ? 'never' : fromNow(usedAt, now);

const revokeButton = (visit: Visit, { apiKeyId, label }: ApiKeyDocument): Html =>
  confirm(visit, `${PATH}/${apiKeyId}/revoke`, {
    open: 'Revoke…',
    name: label,
    submit: 'Revoke key',
    removes: true,
  })`Revoke
“${named(label)}”? Programs that use it lose access immediately, and webhooks registered with it receive nothing more. This
cannot be undone.`;
