/** The commands that make the first account of a service, as pages and the start banner show them. */
export const FIRST_ACCOUNT = [
  'npm run venue -- community add --name "Harbour Lofts" --time-zone Europe/Berlin',
  'npm run venue -- user add --email you@example.com --community 1',
] as const;
