/** A value loaded on first use, so that startup does not wait for it. `loaded`: undefined before the first use. */
export function loadOnce<T>(load: () => Promise<T>) {
  let loading: Promise<T> | undefined;
  const lazy = (): Promise<T> => {
    loading ??= load();
    return loading;
  };
  return Object.assign(lazy, { loaded: (): Promise<T> | undefined => loading });
}
