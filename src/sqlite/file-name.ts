/** How messages name a database. */
export type FileName = {
  /** The role of the file, such as `event log`. */
  readonly what: string;
  readonly path: string;
  /** A sentence with the command that repairs a damaged file. */
  readonly repair: string;
};
