/** The web console's own client. It asks only for the user's identity, so there is no consent page. */
export const CONSOLE_CLIENT_ID = 'console';
export const CONSOLE_CALLBACK_PATH = '/console/callback';
