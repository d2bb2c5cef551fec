import { SCOPE_WORDS } from '../auth/scopes.ts';
import { isRefusal } from '../domain/decision.ts';
import { LABEL } from '../domain/limits.ts';
import { html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { confirm, csrfField, field, formProblem, NO_PROBLEMS, onceField, type Problems, problemOf } from './fields.ts';
import { momentIn } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import { secretBox } from './secret.ts';
import { type Answer, missing, type Routes, type Visit } from './visit.ts';

/** Apps that people of the account let in, and clients of its own that act without a person. */
export function connectionPages(routes: Routes, { connectedApps, clients, users, settings }: PageDeps): void {
  routes.get('/console/apps', async (visit) => {
    const { account } = visit;
    const apps = await connectedApps.grantsOf({ account });
    const emails = new Map<string, string>();
    for (const { userId } of apps) emails.set(userId, (await users.get(userId))?.email ?? 'somebody who is gone');
    return {
      title: 'Connected apps',
      section: 'apps',
      main: html`<div class="head"><div><h1>Connected apps</h1><p class="lead">Apps and assistants that somebody let act for ${visit.accountName}.</p></div></div>
${
  apps.length === 0
    ? html`<div class="empty">${icon('apps')}<h2>No app is connected</h2><p>An app that wants to act for you sends you here to sign in and asks what it may do. AI assistants connect to <code>${settings.publicUrl}/mcp</code>.</p></div>`
    : html`<ul class="grid">${apps.map(
        (app) =>
          html`<li class="card"><h2>${app.clientName}</h2><ul class="plain">${app.scopes.map((scope) => html`<li>${SCOPE_WORDS[scope] ?? scope}</li>`)}</ul><p class="muted small">Connected by ${emails.get(app.userId)}, ${momentIn('UTC', app.connectedAt)} UTC</p>${confirm(visit, { action: `/console/apps/${encodeURIComponent(app.grantId)}/disconnect`, open: 'Disconnect …', question: `Disconnect ${app.clientName}? It can do nothing for this account any more, at once.`, doIt: 'Disconnect it' })}</li>`,
      )}</ul>`
}`,
    };
  });

  routes.post('/console/apps/:id/disconnect', async ({ params, account }) =>
    (await connectedApps.revokeGrant(params.id ?? '', { account }))
      ? { go: '/console/apps', flash: { kind: 'done', text: 'Disconnected. Its access ended at once.' } }
      : missing('connected app'),
  );

  routes.get('/console/clients', (visit) => clientsPage(visit));

  routes.post('/console/clients', (visit) =>
    visit.once(async () => {
      const { account, form } = visit;
      const name = form.text('name');
      const made = await clients.addClient({ account, grant: 'client_credentials', name });
      if (isRefusal(made)) return clientsPage(visit, problemOf(made, { name: 'Name' }));
      return {
        title: 'New client',
        section: 'clients',
        main: html`<h1>The client “${name}” is ready</h1>${secretBox('secret', made.clientSecret, 'Copy the client secret now. It is shown this once; whoever has it acts for this account.')}
<div class="card"><h2>Get a token</h2><p>The client id is <code>${made.clientId}</code>.</p><pre>curl -u '${made.clientId}:${made.clientSecret}' \\
  -d grant_type=client_credentials -d resource=api -d scope=service.api.read \\
  ${settings.publicUrl}/connect/token</pre></div><p><a class="button" href="/console/clients">I have copied it</a></p>`,
      };
    }),
  );

  routes.post('/console/clients/:id/remove', async ({ params, account }) =>
    (await clients.removeClient(params.id ?? '', account))
      ? { go: '/console/clients', flash: { kind: 'done', text: 'Removed. Its tokens ended at once.' } }
      : missing('client'),
  );

  async function clientsPage(visit: Visit, problems: Problems = NO_PROBLEMS): Promise<Answer> {
    const list = await clients.listClients(visit.account);
    return {
      title: 'Own clients',
      section: 'clients',
      ...(problems === NO_PROBLEMS ? {} : { status: 422 }),
      main: html`<div class="head"><div><h1>Own clients</h1><p class="lead">Services of yours that get tokens by themselves (OAuth client credentials) and act for ${visit.accountName}.</p></div></div>
<div class="split"><div>${
        list.length === 0
          ? html`<div class="empty">${icon('client')}<h2>No clients</h2><p>For a simple script an <a href="/console/keys">API key</a> will do. A client is for services that speak OAuth.</p></div>`
          : html`<table class="table"><caption class="visually-hidden">Own clients</caption><thead><tr><th scope="col">Name</th><th scope="col">Client id</th><th scope="col">Made (UTC)</th><th scope="col"><span class="visually-hidden">Remove</span></th></tr></thead><tbody>${list.map(
              (client) =>
                html`<tr><th scope="row" data-label="Name" class="long">${client.name}</th><td data-label="Client id" class="long"><code>${client.clientId}</code></td><td data-label="Made (UTC)"><span>${momentIn('UTC', client.createdAt)}</span></td><td class="actions">${confirm(visit, { action: `/console/clients/${client.clientId}/remove`, open: 'Remove …', question: `Remove “${client.name}”? Its tokens end at once.`, doIt: 'Remove it' })}</td></tr>`,
            )}</tbody></table>`
      }</div><div><form class="card fields" method="post" action="/console/clients">${csrfField(visit)}${onceField()}<h2>New client</h2>${formProblem(problems)}${field({ name: 'name', label: 'Name', hint: 'Which service is it?', value: visit.form.text('name'), required: true, problems, attributes: { maxlength: LABEL.max, autocomplete: 'off' } })}<div><button class="button">Make the client</button></div></form></div></div>`,
    };
  }
}
