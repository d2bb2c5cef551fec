/** Something loaded on first use, so that a start does not have to wait for it. */
export type Lazy<T> = {
  (): Promise<T>;
  /** What has been loaded, or undefined when nothing has needed it yet. */
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
