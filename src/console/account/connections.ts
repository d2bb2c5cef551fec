import { whatScopesAllow } from '../../auth/scopes.ts';
import { isRefusal } from '../../domain/decision.ts';
import { LABEL } from '../../domain/limits.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import {
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
import { zoneName } from '../parts/formats.ts';
import { bareMoment, moment } from '../parts/moments.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { secretBox } from '../parts/secret.ts';
import { type Answer, missing, type Routes, type Visit } from '../parts/visit.ts';
import { historyOfAll } from './history.ts';

/** Apps that users connected to the account, and its own service clients: OAuth clients that act without a user. */
export function connectionPages(routes: Routes, { connectedApps, clients, users, settings }: PageDeps): void {
  routes.get('/console/apps', async (visit) => {
    const { account } = visit;
    const apps = await connectedApps.grantsOf({ account });
    const emails = new Map<string, Html>();
    for (const { userId } of apps) {
      const user = await users.get(userId);
      emails.set(userId, user === undefined ? html`a former user` : named(user.email));
    }
    return {
      title: 'Connected apps',
      section: 'apps',
      main: html`<div class="head"><div><h1>Connected apps</h1><p class="lead">Apps and AI assistants that may act for ${named(visit.accountName)}. <a href="${historyOfAll('apps')}">History</a></p></div></div>
${
  apps.length === 0
    ? html`<div class="empty">${icon('apps')}<h2>No connected apps</h2><p>An app that needs access sends you here to sign in and approve it. AI assistants connect to <code>${settings.publicUrl}/mcp</code>.</p></div>`
    : html`<ul class="grid">${apps.map(
        (app) =>
          html`<li class="card"><h2 class="given">${named(app.clientName)}</h2><div><h3 class="small muted">Permissions</h3><ul class="plain">${whatScopesAllow(app.scopes, [account.kind]).map((what) => html`<li>${what}</li>`)}</ul></div><p class="muted small">Connected by ${emails.get(app.userId)} on ${moment(visit, app.connectedAt)}</p>${confirm(visit, { action: `/console/apps/${encodeURIComponent(app.grantId)}/disconnect`, open: 'Disconnect…', question: 'Disconnect this app? It loses access to this account immediately.', submit: 'Disconnect app' })}</li>`,
      )}</ul>`
}`,
    };
  });

  routes.post('/console/apps/:id/disconnect', async ({ params, account, context }) =>
    (await connectedApps.revokeGrant(params.id ?? '', { account }, context))
      ? { go: '/console/apps', flash: { kind: 'done', text: 'App disconnected. It no longer has access.' } }
      : missing('connected app'),
  );

  routes.get('/console/clients', (visit) => clientsPage(visit));

  routes.post('/console/clients', (visit) =>
    visit.once(async () => {
      const { account, form, context } = visit;
      const name = form.text('name');
      const added = await clients.addClient({ account, grant: 'client_credentials', name }, context);
      if (isRefusal(added)) return clientsPage(visit, problemOf(added, { name: 'Name' }));
      return {
        title: 'New service client',
        section: 'clients',
        main: html`<h1>Service client “${named(name)}” created</h1>${secretBox('secret', added.clientSecret, 'Copy the client secret now and store it like a password. It will not be shown again, and anyone who has it can act for this account.')}
<div class="card"><h2>Get a token</h2><p>The client ID is <code>${added.clientId}</code>.</p><pre>curl -u '${added.clientId}:${added.clientSecret}' \\
  -d grant_type=client_credentials -d resource=api -d scope=service.api.read \\
  ${settings.publicUrl}/connect/token</pre></div><p><a class="button" href="/console/clients">I have copied it</a></p>`,
      };
    }),
  );

  routes.post('/console/clients/:id/remove', async ({ params, account, context }) =>
    (await clients.removeClient(params.id ?? '', context, account))
      ? { go: '/console/clients', flash: { kind: 'done', text: 'Service client removed. Its tokens no longer work.' } }
      : missing('service client'),
  );

  async function clientsPage(visit: Visit, problems: Problems = NO_PROBLEMS): Promise<Answer> {
    const list = await clients.listClients(visit.account);
    const created = `Created (${zoneName(visit.zone)})`;
    return {
      title: 'Service clients',
      section: 'clients',
      status: statusOf(problems),
      main: html`<div class="head"><div><h1>Service clients</h1><p class="lead">Your own services that act for ${named(visit.accountName)} and get tokens without a user (client credentials grant). <a href="${historyOfAll('apps')}">History</a></p></div></div>
<div class="split"><div>${
        list.length === 0
          ? html`<div class="empty">${icon('client')}<h2>No service clients yet</h2><p>For a simple script, an <a href="/console/keys">API key</a> is enough. Create a client for a service that uses OAuth.</p></div>`
          : html`<table class="table"><caption class="visually-hidden">Service clients</caption><thead><tr><th scope="col">Name</th><th scope="col">Client ID</th><th scope="col">${created}</th><th scope="col"><span class="visually-hidden">Remove</span></th></tr></thead><tbody>${list.map(
              (client) =>
                html`<tr><th scope="row" data-label="Name" class="long">${named(client.name)}</th><td data-label="Client ID" class="long"><code>${client.clientId}</code></td><td data-label="${created}">${bareMoment(visit, client.createdAt)}</td><td class="actions">${confirm(visit, { action: `/console/clients/${client.clientId}/remove`, open: 'Remove…', question: `Remove “${namedText(client.name)}”? Its tokens stop working immediately.`, submit: 'Remove client', removes: true })}</td></tr>`,
            )}</tbody></table>`
      }</div><div><form class="card fields" method="post" action="/console/clients">${csrfField(visit)}${onceField()}<h2>New service client</h2>${formProblem(problems)}${field({ name: 'name', label: 'Name', hint: 'Which service is it for?', value: visit.form.text('name'), required: true, problems, attributes: { maxlength: LABEL.max, autocomplete: 'off' } })}<div><button class="button">Create client</button></div></form></div></div>`,
    };
  }
}
