/**
 * oidc-provider takes longer to load than all else that a start needs: it is loaded when somebody first asks the authorization
 * server. Modules of this folder that are there from the start take it from here.
 */
export const oidcProvider = () => import('oidc-provider');
