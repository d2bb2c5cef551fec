/** How messages name a database. */
export type FileName = {
  /** What the file is to the service, such as `event log`. */
  readonly what: string;
  readonly path: string;
  /** What mends the file when it is damaged: a sentence with the command. */
  readonly mend: string;
};
