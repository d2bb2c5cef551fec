import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { createSessions } from '../../src/console/sessions/sessions.ts';
import { openCore } from '../../src/core.ts';
import { keysOf } from '../../src/domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/webhook.ts';
import { createMail } from '../../src/mail/mail.ts';
import { createReaders, MAILED } from '../../src/mail/recipients.ts';
import { createReminders } from '../../src/mail/reminders.ts';
import type { OutboxRole } from '../../src/outbox/marks.ts';
import { createScheduler } from '../../src/scheduler/scheduler.ts';
import { createWebhooks } from '../../src/webhooks/webhooks.ts';

/** The kinds of events that each role follows. */
const KINDS: Readonly<Record<OutboxRole, readonly string[]>> = {
  webhooks: keysOf(WEBHOOK_EVENTS),
  mail: MAILED.kinds,
};

/** What a history runs of a release. */
export type Release = typeof THIS_RELEASE;

export const THIS_RELEASE = {
  kinds: KINDS,
  createApp,
  createMail,
  createReaders,
  createReminders,
  createScheduler,
  createSessions,
  createWebhooks,
  openCore,
  readConfig,
};

/** Loads a release from a folder into this process. Its calls are those of this one, as far as a history makes them. */
export async function loadRelease(folder: string): Promise<Release> {
  const load = (file: string) => import(`${folder}/src/${file}`);
  const [app, config, core, webhook, mail, recipients, reminders, scheduler, sessions, webhooks] = await Promise.all([
    load('app.ts'),
    load('config.ts'),
    load('core.ts'),
    load('domain/webhook.ts'),
    load('mail/mail.ts'),
    load('mail/recipients.ts'),
    load('mail/reminders.ts'),
    load('scheduler/scheduler.ts'),
    load('console/sessions/sessions.ts'),
    load('webhooks/webhooks.ts'),
  ]);
  return {
    kinds: { webhooks: Object.keys(webhook.WEBHOOK_EVENTS), mail: recipients.MAILED.kinds },
    createApp: app.createApp,
    createMail: mail.createMail,
    createReaders: recipients.createReaders,
    createReminders: reminders.createReminders,
    createScheduler: scheduler.createScheduler,
    createSessions: sessions.createSessions,
    createWebhooks: webhooks.createWebhooks,
    openCore: core.openCore,
    readConfig: config.readConfig,
  };
}
