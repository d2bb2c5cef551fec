const SETTINGS = ['EVENTSTORE_URL', 'MONGODB_URL'] as const;

const hidden = (setting: (typeof SETTINGS)[number]): string => `TEST_${setting}`;

/** Renames the variables with the servers to test on: what a test starts must not inherit them and leave its own engines. */
export function hideGivenServers(): void {
  for (const setting of SETTINGS) {
    const url = process.env[setting] ?? '';
    if (url !== '') process.env[hidden(setting)] = url;
    delete process.env[setting];
  }
}

/** The URL of the server to test on; empty if the run was given none. */
export const givenServer = (setting: (typeof SETTINGS)[number]): string => process.env[hidden(setting)] ?? '';
