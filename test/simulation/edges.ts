import type { openSqliteDocumentStore as OpenDocuments } from '../../src/document-store/sqlite/document-store.ts';
import type { openSqliteEventStore as OpenEvents } from '../../src/event-store/sqlite/event-store.ts';
import type { createSmtpSender as CreateSmtpSender } from '../../src/mail/smtp-sender.ts';
import type { createSender as CreateSender } from '../../src/webhooks/send/http-sender.ts';
import { newDocumentsDisk, openMemoryDocuments } from './memory-documents.ts';
import { currentProcess, DATA_DIR } from './process.ts';

/** What the service of the simulation gets in place of the embedded engines and of what opens sockets (redirect.ts). */

export const openSqliteEventStore: typeof OpenEvents = async () => currentProcess().openEvents();

/** Outside of the data folder, `verify` builds its copy. */
export const openSqliteDocumentStore: typeof OpenDocuments = async ({ folder }) =>
  folder === DATA_DIR ? currentProcess().openDocuments() : openMemoryDocuments(newDocumentsDisk());

export const createSender: typeof CreateSender = () => {
  const { post } = currentProcess();
  return { post, close: async () => {} };
};

export const createSmtpSender: typeof CreateSmtpSender = () => {
  const { sendMail } = currentProcess();
  return { send: sendMail, close: async () => {} };
};
