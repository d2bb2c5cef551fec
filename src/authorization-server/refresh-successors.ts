import { createHmac } from 'node:crypto';
import Provider from 'oidc-provider';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import type { SecretKey } from '../secrets/secret-key.ts';

/**
 * Makes the refresh token that replaces another follow from it, so that every use of a token gets the same successor. A thief who uses
 * a token within its ten seconds thus gets the token that its client has, and the later use of that one ends the grant. With a second
 * successor, the two would go on side by side (docs/decisions/oauth.md, Refresh tokens).
 */
export function deriveSuccessors(provider: Provider, secretKey: SecretKey): void {
  const key = derivedKey(secretKey, purposes.refreshSuccessors);
  const { prototype } = provider.RefreshToken;
  const random: unknown = Reflect.get(prototype, 'generateTokenId');
  if (typeof random !== 'function') throw new TypeError('oidc-provider makes ids of tokens in another way');
  Object.assign(prototype, {
    generateTokenId(): string {
      const replaced = Provider.ctx?.oidc.entities.RotatedRefreshToken;
      if (replaced === undefined) return random.call(this);
      return createHmac('sha256', key).update(replaced.jti).digest('base64url');
    },
  });
}
