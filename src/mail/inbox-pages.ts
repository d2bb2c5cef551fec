import type { FastifyInstance, FastifyReply } from 'fastify';
import { momentInUtc } from '../html/formats.ts';
import { type Html, html, named } from '../html/html.ts';
import { icon, page, pageHeaders } from '../html/layout.ts';
import { sendNotFoundPage } from '../html/not-found.ts';
import { isLocalRequest } from '../http/local-request.ts';
import { INBOX_SIZE, type KeptMail, type MailInbox } from './inbox.ts';

const PATH = '/mail';

/**
 * Shows the inbox at `/mail`, without a sign-in: only a service that listens on loopback has one. Answers only requests that name this
 * machine and came from no proxy, so that neither a page of another site (DNS rebinding) nor another machine can read it.
 */
export function inboxPages(app: FastifyInstance, inbox: Pick<MailInbox, 'list' | 'get'>): void {
  app.get(PATH, async (request, reply) =>
    isLocalRequest(request) ? send(reply, listPage(await inbox.list())) : sendNotFoundPage(reply),
  );

  const withMail = (path: string, answer: (reply: FastifyReply, mail: KeptMail) => FastifyReply) =>
    app.get<{ Params: { id: string } }>(`${PATH}/:id${path}`, async (request, reply) => {
      const mail = isLocalRequest(request) ? await inbox.get(request.params.id) : undefined;
      return mail === undefined ? sendNotFoundPage(reply) : answer(reply, mail);
    });
  withMail('', (reply, mail) => send(reply, mailPage(mail)));
  withMail('/html', (reply, mail) => reply.headers(CONTENT_HEADERS).send(inNewTab(mail.html)));
  withMail('/event.ics', (reply, mail) =>
    mail.calendar === undefined
      ? sendNotFoundPage(reply)
      : reply.headers({ ...PRIVATE, 'content-type': 'text/calendar; charset=utf-8' }).send(mail.calendar),
  );
}

const PRIVATE = { 'cache-control': 'no-store', 'cross-origin-resource-policy': 'same-origin' };

const PAGE_HEADERS = pageHeaders();

/** Only a page of the inbox frames a mail. */
const send = (reply: FastifyReply, text: string): FastifyReply =>
  reply
    .headers({ ...PAGE_HEADERS, ...PRIVATE })
    .header('content-security-policy', `${PAGE_HEADERS['content-security-policy']}; frame-src 'self'`)
    .send(text);

/** Links of a mail open in a page of their own. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox';

/** A mail as a mail program shows it: it runs nothing and loads nothing. */
const CONTENT_HEADERS = {
  ...PRIVATE,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    `sandbox ${SANDBOX}`,
  ].join('; '),
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
};

const inNewTab = (text: string): string => text.replace(/<head>/i, '<head><base target="_blank">');

function listPage(mails: readonly KeptMail[]): string {
  const main = html`<div class="inbox stack full"><h1>Mail</h1>
<p class="lead">This service has no mail server. It keeps mails here instead of sending them: the last ${INBOX_SIZE}, for a day.
Only this machine can read them.</p>
${mails.length === 0 ? html`<p>There is no mail yet. Request a booking in the console, for example.</p>` : mailTable(mails)}</div>`;
  return page({ title: 'Mail', main });
}

const mailTable = (mails: readonly KeptMail[]): Html =>
  html`<div class="table-box"><table class="table"><caption class="visually-hidden">Mails, latest first</caption>
<thead><tr><th scope="col">Subject</th><th scope="col">To</th><th scope="col">Time</th></tr></thead>
<tbody>${mails.map(
    ({ id, subject, to, at }) => html`<tr>
<th scope="row" data-label="Subject" class="long"><div><a href="${PATH}/${id}">${named(subject)}</a></div></th>
<td data-label="To" class="long"><div>${named(to)}</div></td>
<td data-label="Time"><div><time datetime="${at}">${momentInUtc(at)}</time></div></td></tr>`,
  )}</tbody></table></div>`;

function mailPage(mail: KeptMail): string {
  const { id, subject, to, replyTo, date, messageId, calendar, text } = mail;
  const headers: readonly (readonly [name: string, value: string])[] = [
    ['To', to],
    ...(replyTo === undefined ? [] : [['Reply-To', replyTo] as const]),
    ['Date', momentInUtc(date)],
    ['Message-ID', messageId],
  ];
  const main = html`<div class="inbox stack full"><p class="back"><a href="${PATH}">${icon('back')} All mail</a></p>
<h1>${named(subject)}</h1>
<dl class="facts">${headers.map(([name, value]) => html`<dt>${name}</dt><dd class="long">${named(value)}</dd>`)}</dl>
${calendar !== undefined && html`<p>Attached: <a href="${PATH}/${id}/event.ics">event.ics</a></p>`}
<h2>As HTML</h2>
<iframe title="The mail as HTML" src="${PATH}/${id}/html" sandbox="${SANDBOX}"></iframe>
<h2>As text</h2>
<pre>${text}</pre></div>`;
  return page({ title: subject, main });
}
