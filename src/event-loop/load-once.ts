/** A value loaded on first use, so that startup does not wait for it. A load that fails is tried again. `loaded`: undefined before the first use. */
export function loadOnce<T>(load: () => Promise<T>) {
  let loading: Promise<T> | undefined;
  const lazy = (): Promise<T> => {
    loading ??= load().catch((error: unknown) => {
      // The store may have been away for a moment.
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return Object.assign(lazy, { loaded: (): Promise<T> | undefined => loading });
}
