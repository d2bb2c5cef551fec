export type { Compose, MailKind, Message, NewMail } from './new-mail.ts';
