import { roleIn } from '../../auth/memberships.ts';
import { whatScopesAllow } from '../../auth/scopes.ts';
import type { Account } from '../../domain/account.ts';
import { isRefusal } from '../../domain/decision.ts';
import { ROLES, type Role } from '../../domain/roles.ts';
import { bareMoment, moment, zoneName } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type Answer, done, missing } from '../parts/answer.ts';
import { confirm, nameField, onceField, postForm, problemOf } from '../parts/forms.ts';
import { emptyState } from '../parts/frame.ts';
import { historyOfAll } from '../parts/history-links.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { secretPage } from '../parts/secret-page.ts';
import { actionColumn, column, dataTable, rowHeading } from '../parts/tables.ts';
import type { Problems } from '../parts/typed-form.ts';
import { may, type Visit } from '../parts/visit.ts';
import { connectAssistant } from './connect-assistant.ts';

type Grant = Awaited<ReturnType<PageDeps['connectedApps']['grantsOf']>>[number];
type Client = Awaited<ReturnType<PageDeps['clients']['listClients']>>[number];

/** Apps that users connected to the account, and its own service clients: OAuth clients that act without a user. */
export function connectionPages(routes: Routes, { connectedApps, clients, users, settings }: PageDeps): void {
  const { publicUrl } = settings;

  routes.get('/console/apps', 'Viewer', async (visit) => {
    const apps = await grantsFor(visit);
    // An app may be allowed more than once: by several users, or again by the same one.
    const cards = await Promise.all(
      [...Map.groupBy(apps, ({ clientId }) => clientId).values()].map(async (grants) =>
        appCard(visit, await connections(grants, visit.account)),
      ),
    );
    return {
      title: 'Connected apps',
      lead: html`Apps and AI assistants that ${may(visit, 'Manager') ? 'may' : 'you allowed to'} act for ${named(visit.accountName)}.
<a href="${historyOfAll('apps')}">History</a>`,
      main: html`<div class="split"><div>${
        cards.length === 0
          ? emptyState('apps', 'No connected apps')`An app that needs access sends you here to sign in and approve it.`
          : html`<ul class="stack">${cards}</ul>`
      }</div><div>${connectAssistant(publicUrl)}</div></div>`,
    };
  });

  routes.post('/console/apps/:id/disconnect', 'Viewer', async (visit) => {
    const { params, account, context } = visit;
    const apps = await grantsFor(visit);
    const named = apps.find(({ grantId }) => grantId === params.id);
    if (named === undefined) return missing('connected app');
    for (const { grantId } of apps.filter(({ clientId }) => clientId === named.clientId))
      await connectedApps.revokeGrant(grantId, { account }, context);
    return done('/console/apps', 'App disconnected. It no longer has access.');
  });

  /** The apps that a user may see and disconnect: a Manager those of every member, the others their own. */
  async function grantsFor(visit: Visit): Promise<readonly Grant[]> {
    const grants = await connectedApps.grantsOf({ account: visit.account });
    return may(visit, 'Manager') ? grants : grants.filter(({ userId }) => userId === visit.user.id);
  }

  const connections = (grants: readonly Grant[], account: Account): Promise<Connection[]> =>
    Promise.all(
      grants.map(async (grant) => {
        const user = await users.get(grant.userId);
        return { ...grant, email: user?.email, role: user && roleIn(user, account) };
      }),
    );

  routes.get('/console/clients', 'Manager', clientsPage);

  routes.post('/console/clients', 'Manager', async (visit) => {
    const { account, form, context } = visit;
    const name = form.text('name');
    const added = await clients.addClient({ account, name }, context);
    if (isRefusal(added)) return clientsPage(visit, problemOf(added, { name: 'Name' }));
    return secretPage({
      title: 'New service client',
      heading: html`Service client “${named(name)}” created`,
      back: { href: '/console/clients', label: 'Service clients' },
      secret: added.clientSecret,
      advice: [
        'Copy the client secret now and store it like a password.',
        'It will not be shown again, and anyone who has it can act for this account.',
      ].join(' '),
      more: html`<div class="card"><h2>Get a token</h2><p>The client ID is <code>${added.clientId}</code>.</p>
<pre>curl -u '${added.clientId}:${added.clientSecret}' \\
  -d grant_type=client_credentials -d resource=api -d scope=service.api.read \\
  ${publicUrl}/connect/token</pre></div>`,
    });
  });

  routes.post('/console/clients/:id/remove', 'Manager', async ({ params, account, context }) =>
    (await clients.removeClient(params.id ?? '', context, account))
      ? done('/console/clients', 'Service client removed. Its tokens no longer work.')
      : missing('service client'),
  );

  async function clientsPage(visit: Visit, problems: Problems = {}): Promise<Answer> {
    const list = await clients.listClients(visit.account);
    return {
      title: 'Service clients',
      lead: html`Your own services that act for ${named(visit.accountName)} and get tokens without a user (client credentials grant).
<a href="${historyOfAll('apps')}">History</a>`,
      problems,
      main: html`<div class="split"><div>${
        list.length === 0
          ? emptyState('client', 'No service clients yet')`For a simple script, an <a href="/console/keys">API key</a>
is enough. Create a client for a service that uses OAuth.`
          : clientTable(visit, list)
      }</div><div>${newClientForm(visit, problems)}</div></div>`,
    };
  }
}

/** An app that a user has connected, with that user's address and role. */
type Connection = Grant & { readonly email: string | undefined; readonly role: Role | undefined };

/** An app, with every time that it was allowed. Disconnecting it ends all of them. */
function appCard(visit: Visit, connections: readonly Connection[]): Html | undefined {
  const [app] = connections;
  if (app === undefined) return undefined;
  const scopes = [...new Set(connections.flatMap((one) => one.scopes))];
  // Usually one user, whose role the app has.
  const role = ROLES.findLast((one) => connections.some((each) => each.role === one)) ?? 'Viewer';
  const permissions = whatScopesAllow(scopes, [{ account: visit.account, role }]);
  const action = `/console/apps/${encodeURIComponent(app.grantId)}/disconnect`;
  const button = { open: 'Disconnect…', name: app.clientName, submit: 'Disconnect app' };
  const disconnect = confirm(visit, action, button)`Disconnect this app? It loses access to this account immediately.`;
  const connected = connections.map(
    ({ email, connectedAt }) =>
      html`<p class="muted small">Connected by ${email === undefined ? 'a former user' : named(email)} on
${moment(visit, connectedAt)}</p>`,
  );
  return html`<li class="card"><h2 class="given">${named(app.clientName)}</h2>
<div><h3 class="small muted">Permissions</h3><ul class="plain">${permissions.map((what) => html`<li>${what}</li>`)}</ul></div>
<div>${connected}</div>${disconnect}</li>`;
}

function newClientForm(visit: Visit, problems: Problems): Html {
  return postForm(visit, '/console/clients', 'card fields')`${onceField()}<h2>New service client</h2>
${nameField(visit.form, problems, 'name', 'Which service is it for?')}<div><button class="button">Create client</button></div>`;
}

const clientTable = (visit: Visit, list: readonly Client[]): Html =>
  dataTable('Service clients', list, [
    rowHeading('Name', 'long', ({ name }) => named(name)),
    column('Client ID', 'long', ({ clientId }) => html`<code>${clientId}</code>`),
    column(`Created (${zoneName(visit.zone)})`, '', ({ createdAt }) => bareMoment(visit, createdAt)),
    actionColumn('Remove', (client) => removeButton(visit, client)),
  ]);

const removeButton = (visit: Visit, { clientId, name }: Client): Html =>
  confirm(visit, `/console/clients/${clientId}/remove`, {
    open: 'Remove…',
    name,
    submit: 'Remove client',
    removes: true,
  })`Remove
“${named(name)}”? Its tokens stop working immediately.`;
