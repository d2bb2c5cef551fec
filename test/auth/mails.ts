import { randomBytes } from 'node:crypto';
import type { LinkMails } from '../../src/auth/link-mail.ts';
import { createLinks } from '../../src/auth/links.ts';

type Mail = Parameters<LinkMails['enqueue']>[0];

export const PUBLIC_URL = 'https://venue.example';

/** What services that send links need, with the mails that they would send: each cause once, as the queue has it. */
export function linkDeps(clock: () => number) {
  const sent: Mail[] = [];
  const mails: LinkMails = {
    isConfigured: true,
    async enqueue(mail) {
      const isSame = ({ kind, cause, userId }: Mail) =>
        kind === mail.kind && cause === mail.cause && userId === mail.userId;
      if (!sent.some(isSame)) sent.push(mail);
    },
  };
  const links = createLinks({ secretKey: randomBytes(32), clock });
  return { sent, mails, links, clock, publicUrl: PUBLIC_URL };
}

/** The token of a link. */
export const tokenOf = ({ url }: { readonly url: string }): string => new URL(url).searchParams.get('link') ?? '';
