import { brandOf, communityOf } from '../../domain/account.ts';
import { brandId, spaceId } from '../../domain/ids.ts';
import { THREAD_MESSAGE } from '../../domain/limits.ts';
import { questionKey } from '../../domain/question.ts';
import { isAtLeast } from '../../domain/roles.ts';
import { shortened } from '../../html/formats.ts';
import { namedText } from '../../html/html.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { NewMail } from '../new-mail.ts';
import type { BookingWritten } from './booking-mails.ts';
import { foreignAccountName, foreignName, foreignText } from './foreign-name.ts';
import type { ComposeDeps, Reader } from './written.ts';

type Deps = Pick<ComposeDeps, 'queries' | 'contacts' | 'publicUrl' | 'clock'>;

/** Whether a mail is about a message that belongs to no booking. */
export const isOfQuestion = ({ kind, about }: Pick<NewMail, 'kind' | 'about'>): boolean =>
  kind === 'Message' && about.bookingId === undefined;

/** A mail about a message of a brand or a community about a space. */
export async function questionMail(
  { queries, contacts, publicUrl, clock }: Deps,
  { about, reader }: { readonly about: NewMail['about']; readonly reader: Reader },
): Promise<BookingWritten> {
  const isCommunity = reader.account.kind === 'Community';
  const of = { spaceId: spaceId(Number(about.spaceId)), brandId: brandId(Number(about.brandId)) };
  const thread = await queries.questions.thread(reader.account, of);
  const place = Number(about.message);
  const message = thread?.messages.find(({ revision }) => revision === place);
  if (thread === undefined || message === undefined)
    throw new Unavailable(`The read models do not show message ${about.message} about space ${of.spaceId} yet`);
  const { space, brandName } = thread;
  const other = isCommunity
    ? foreignName(brandName)
    : await foreignAccountName(queries.accounts, communityOf(space), clock());
  const name = isCommunity ? namedText(shortened(space.name)) : foreignText(space.name);
  const replyTo = await contacts.of(isCommunity ? brandOf(of) : communityOf(space));
  const title = isCommunity ? 'Question' : 'Answer';
  return {
    subject: `${title}: ${[...(isCommunity ? [other] : []), name].join(', ')}`,
    title,
    briefly: [name, other].join('\n'),
    intro: [isCommunity ? `${other} asks about ${name}.` : `${other} wrote to you about ${name}.`],
    facts: [['Message', foreignText(message.text, THREAD_MESSAGE.max)]],
    action: {
      text: isAtLeast(reader.role, 'Coordinator') ? 'Answer the message' : 'See the message',
      url: `${publicUrl}/console/questions/${questionKey(of)}`,
    },
    ...(replyTo !== undefined && { replyTo }),
  };
}
