/** Something that is loaded when it is first needed, because a start need not wait for it. */
export type Lazy<T> = {
  (): Promise<T>;
  /** What was loaded so far: undefined when nobody needed it yet. */
  loaded(): Promise<T> | undefined;
};

export function loadOnce<T>(load: () => Promise<T>): Lazy<T> {
  let loading: Promise<T> | undefined;
  const late = () => {
    loading ??= load();
    return loading;
  };
  return Object.assign(late, { loaded: () => loading });
}
