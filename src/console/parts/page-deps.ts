import type { ApiKeyUsage } from '../../auth/api-key-usage.ts';
import type { Users } from '../../auth/users.ts';
import type { AuthorizationServer } from '../../authorization-server/authorization-server.ts';
import type { Commands } from '../../commands/commands.ts';
import type { Cents } from '../../domain/ids.ts';
import type { Queries } from '../../queries/queries.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

/** What pages depend on: every command and query of the service that the console offers. */
export type PageDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly users: Pick<Users, 'get'>;
  readonly webhooks: Omit<Webhooks, 'start' | 'stop'>;
  readonly apiKeyUsage: Pick<ApiKeyUsage, 'lastUsed'>;
  readonly connectedApps: AuthorizationServer['connectedApps'];
  readonly clients: Pick<AuthorizationServer['clients'], 'addClient' | 'listClients' | 'removeClient'>;
  readonly settings: {
    readonly publicUrl: string;
    /** ISO 4217. */
    readonly currency: string;
    readonly serviceFeePercent: number;
    /** Approvals of a higher total are confirmed once more. Undefined: none are. */
    readonly approveConfirmAbove: Cents | undefined;
  };
};
