import { permissionsText } from '../../contract/permission-labels.ts';
import { ROLE_NAMES } from '../../domain/roles.ts';
import { momentInUtc, shortened } from '../../html/formats.ts';
import { namedText } from '../../html/html.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { AlwaysKind } from '../kinds.ts';
import type { NewMail } from '../new-mail.ts';
import type { ComposeDeps, Reader, Skipped, Written } from './written.ts';

type Deps = Pick<ComposeDeps, 'queries' | 'user' | 'lastErrorOf' | 'publicUrl'>;
type About = NewMail & { readonly reader: Reader };

/** A mail about the connections of an account or the security of its members. */
export async function accountMail(
  deps: Deps,
  kind: AlwaysKind,
  mail: NewMail,
  reader: Reader | undefined,
): Promise<Written | Skipped> {
  if (kind === 'PasswordChanged') return passwordChanged(deps, mail);
  if (reader === undefined) return { skipped: 'It names no account.' };
  const write = { WebhookDisabled: webhookDisabled, ApiKeyIssued: apiKeyIssued, RoleChanged: roleChanged }[kind];
  return write(deps, { ...mail, reader });
}

async function webhookDisabled(deps: Deps, { about, reader }: About): Promise<Written | Skipped> {
  const webhookId = String(about.webhookId);
  const webhook = await deps.queries.webhooks.get(reader.account, webhookId);
  if (webhook === undefined) return { skipped: 'The webhook was removed meanwhile.' };
  if (webhook.status === 'enabled') return { skipped: 'The webhook was enabled again meanwhile.' };
  const lastError = await deps.lastErrorOf(webhookId, about.eventId === undefined ? undefined : String(about.eventId));
  return {
    subject: `Webhook disabled: ${namedText(shortened(webhook.url))}`,
    intro: [
      `A webhook of ${namedText(reader.accountName)} was disabled. It gets no more deliveries until it is enabled again.`,
    ],
    facts: [
      ['URL', webhook.url],
      ['Reason', webhook.disabledReason ?? 'no reason given'],
      ...(lastError === undefined ? [] : ([['Last error', lastError]] as const)),
    ],
    action: { text: 'See the webhook', url: `${deps.publicUrl}/console/webhooks/${webhookId}` },
  };
}

async function apiKeyIssued(deps: Deps, { about, reader, at }: About): Promise<Written | Skipped> {
  const keys = await deps.queries.apiKeys.listOfAccount(reader.account);
  const key = keys.find(({ apiKeyId }) => apiKeyId === about.apiKeyId);
  if (key === undefined) throw new Unavailable(`The read models do not show API key ${about.apiKeyId} yet`);
  return {
    subject: `New API key: ${namedText(shortened(key.label))}`,
    intro: [
      `An API key of ${namedText(reader.accountName)} was issued. Programs that have it act for the account.`,
      'If you do not expect it, revoke it.',
    ],
    facts: [
      ['Key', `${key.label} (${key.preview})`],
      ['Permissions', permissionsText(key.permissions)],
      ['Issued by', await actorName(deps, String(about.by ?? ''))],
      ['Issued at', momentInUtc(at)],
    ],
    action: { text: 'See the API keys', url: `${deps.publicUrl}/console/keys` },
  };
}

/** The name of the actor `kind:id`, if it is a user who is still there. */
async function actorName({ user }: Deps, by: string): Promise<string> {
  const [kind, id = ''] = by.split(/:(.*)/s);
  if (kind === 'user') return (await user(id))?.email ?? 'a former user';
  return kind === 'operator' ? 'the operator' : 'the service';
}

async function roleChanged(deps: Deps, { about, reader }: About): Promise<Written | Skipped> {
  if (reader.role !== about.role) return { skipped: 'The role changed again meanwhile.' };
  return {
    subject: `Your role in ${namedText(shortened(reader.accountName))}: ${ROLE_NAMES[reader.role]}`,
    intro: [
      `Your role in ${namedText(reader.accountName)} is now ${ROLE_NAMES[reader.role]}.`,
      {
        Manager: 'You may do everything, and decide who belongs to the account.',
        Coordinator: 'You may handle requests, bookings and reviews, and the closed times of a community.',
        CoordinatorWithoutAmounts:
          'You may do the same as a Coordinator. Prices, earnings and charges are not shown to you.',
        Viewer: 'You may read requests, bookings, spaces and the history, and change nothing.',
        ViewerWithoutAmounts: 'You may read the same as a Viewer. Prices, earnings and charges are not shown to you.',
      }[reader.role],
    ],
    facts: [['Changed by', await actorName(deps, String(about.by ?? ''))]],
    action: { text: 'Open the console', url: `${deps.publicUrl}/console` },
  };
}

async function passwordChanged({ publicUrl }: Deps, { at }: NewMail): Promise<Written> {
  return {
    subject: 'Your password was changed',
    intro: [
      `The password of your account was changed on ${momentInUtc(at)}. All other browsers were signed out.`,
      'If it was not you, choose “Forgot your password?” where you sign in, and tell a Manager of your account.',
    ],
    action: { text: 'Go to your account', url: `${publicUrl}/console/account` },
  };
}
