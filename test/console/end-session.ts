import { createHash } from 'node:crypto';
import { SESSIONS } from '../../src/console/sessions/session-records.ts';
import type { Browser } from '../browser.ts';
import type { Running } from './console.fixture.ts';

/** Ends the session of a browser, as after twelve hours, while its pages are still open. */
export async function endSession({ service }: Running, browser: Pick<Browser, 'cookie'>): Promise<void> {
  const sessions = await service.core.documents.open(SESSIONS);
  await sessions.delete(
    createHash('sha256')
      .update(browser.cookie('console') ?? '')
      .digest('base64url'),
  );
}
