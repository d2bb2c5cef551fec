/** A value loaded on first use, so that startup does not wait for it. */
export type Lazy<T> = {
  (): Promise<T>;
  /** The loaded value, or undefined before the first use. */
  loaded(): Promise<T> | undefined;
};

export function loadOnce<T>(load: () => Promise<T>): Lazy<T> {
  let loading: Promise<T> | undefined;
  const lazy = () => {
    loading ??= load();
    return loading;
  };
  return Object.assign(lazy, { loaded: () => loading });
}
