/**
 * Returns how the reader of this process's output starts the command line: `npx venue` in a checkout, where npm started this process, and
 * `venue` where it is installed, as in the Docker image.
 */
export const venueCommand = (): string => (process.env.npm_command === undefined ? 'venue' : 'npx venue');

/** The commands that make the first account of a service, as pages and the start banner show them. */
export const firstAccount = (): readonly string[] => [
  `${venueCommand()} community add --name "Harbour Lofts" --time-zone Europe/Berlin`,
  `${venueCommand()} user add --email you@example.com --community 1`,
];
