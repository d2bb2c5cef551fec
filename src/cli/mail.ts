import type { Command } from '@commander-js/extra-typings';
import { type Refusal, refuse } from '../domain/decision.ts';
import { isSafeForSmtp, normalisedEmail } from '../domain/email-address.ts';
import { picked } from '../domain/picked.ts';
import { MAIL_CAUSES, type MailRecord, type MailState } from '../mail/mail.ts';
import { type Answer, type OperatorCore, operated } from './operation.ts';
import { answer, subcommand } from './subcommand.ts';

/** Mails listed of each state. */
const LISTED = 100;

export function mailCommands(venue: Command): void {
  const mail = venue.command('mail').description('show and repeat mails to users, and test the mail server');

  subcommand(
    mail,
    'list',
    `list the last ${LISTED} mails of each state, or only those that failed, with what the mail server answered`,
    ['mail list --failed', 'mail list'],
  )
    .option('--failed', 'only mails that failed')
    .action(
      operated(async (core, { failed }) => {
        const states: readonly MailState[] = failed ? ['Failed'] : ['Pending', 'Failed', 'Skipped', 'Sent'];
        const lists = await Promise.all(states.map((state) => core.mail.list(state, LISTED)));
        return {
          json: await Promise.all(lists.flat().map((each) => printed(core, each))),
          columns: ['id', 'kind', 'to', 'state', 'tries', 'due', 'reason', 'answer'],
        };
      }),
    );

  const resending = 'send a mail again, in any state; needs a running process with the mail role';
  subcommand(mail, 'resend', resending, 'mail resend BookingRequested:0198f2c4-…:usr_Zb0…')
    .argument('<id>', 'id of the mail, from `mail list`')
    .action(
      operated(async (core, id) => {
        if (!core.mail.isConfigured) return NOT_CONFIGURED;
        return answer(await core.mail.resend(id), async (resent) => ({ json: await printed(core, resent) }));
      }),
    );

  subcommand(
    mail,
    'test',
    'send a test mail at once, and print what the mail server answered',
    'mail test ada@example.com',
  )
    .argument('<address>', 'e-mail address that gets the mail')
    .action(operated((core, address) => test(core, normalisedEmail(address))));
}

const NOT_CONFIGURED = refuse('ValidationError', 'No mail is sent: set SMTP_URL and MAIL_FROM, or MAIL_INBOX.');

async function test({ mail }: OperatorCore, to: string): Promise<Answer | Refusal> {
  if (!isSafeForSmtp(to))
    return refuse('ValidationError', 'The address is not an e-mail address of at most 254 characters.');
  const result = await mail.sendTest(to);
  if (result === undefined) return NOT_CONFIGURED;
  const { outcome, response } = result;
  const json = { sent: outcome === 'accepted', answer: response };
  if (outcome === 'accepted') return { json };
  const details =
    outcome === 'refused'
      ? `The mail server refused the mail: ${response}`
      : `The mail server takes no mail: ${MAIL_CAUSES[result.cause]} (${response})`;
  return { json, failure: { error: 'MailNotSent', details } };
}

/** A mail as `--json` shows it, with the address as it is now. */
async function printed({ users, invitations }: OperatorCore, mail: MailRecord) {
  const reader = (await users.get(mail.userId)) ?? (await invitations.get(mail.userId));
  return {
    id: mail.mailId,
    ...picked(mail, ['kind', 'userId']),
    to: reader?.email ?? null,
    account: mail.account ?? null,
    ...picked(mail, ['state', 'tries', 'due', 'createdAt', 'notAfter', 'reason']),
    answer: mail.attempts.at(-1)?.response ?? null,
  };
}
