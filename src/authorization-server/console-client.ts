/** The web console: the service's own client. It asks who the user is and nothing else, so there is no consent page. */
export const CONSOLE_CLIENT_ID = 'console';
export const CONSOLE_CALLBACK_PATH = '/console/callback';
