import { Gauge, Histogram, type MetricObjectWithValues, type MetricValueWithName, type Registry } from 'prom-client';

type Label = 'method' | 'route' | 'status' | 'le';

/** The requests of one method, route and status. */
type Cell = { readonly counts: number[]; sum: number };

/** In seconds. The upper ones are the deadlines of requests and of commands that wait for read models. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const NAME = 'venue_http_request_duration_seconds';
const HELP = 'Requests by method, route pattern and status, until the last byte of the answer was written.';

/**
 * The histogram of requests. It counts by itself, because prom-client joins and hashes the labels for every value: that would take as long as
 * a twentieth of the fastest reads. It is no subclass of prom-client's histogram, which the page does not ask through `get`.
 */
export class RequestHistogram extends Gauge<Label> {
  /** Has the name and the type. */
  readonly #empty = new Histogram({ name: NAME, help: HELP, registers: [] });
  /** By route, method and status. */
  readonly #cells = new Map<string, Map<string, Map<number, Cell>>>();

  constructor(registers: Registry[]) {
    super({ name: NAME, help: HELP, labelNames: ['method', 'route', 'status', 'le'], registers });
  }

  count(method: string, route: string, status: number, seconds: number): void {
    const cell = this.#cells.get(route)?.get(method)?.get(status) ?? this.#add(method, route, status);
    let at = 0;
    while (at < BOUNDS.length && seconds > (BOUNDS[at] ?? 0)) at += 1;
    cell.counts[at] = (cell.counts[at] ?? 0) + 1;
    cell.sum += seconds;
  }

  #add(method: string, route: string, status: number): Cell {
    const methods = this.#cells.get(route) ?? new Map<string, Map<number, Cell>>();
    const statuses = methods.get(method) ?? new Map<number, Cell>();
    const cell: Cell = { counts: Array(BOUNDS.length + 1).fill(0), sum: 0 };
    this.#cells.set(route, methods.set(method, statuses.set(status, cell)));
    return cell;
  }

  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
    const values: MetricValueWithName<Label>[] = [];
    for (const [route, methods] of this.#cells)
      for (const [method, statuses] of methods)
        for (const [status, cell] of statuses)
          for (const sample of samplesOf({ method, route, status }, cell)) values.push(sample);
    return { ...(await this.#empty.get()), values };
  }
}

/** The samples of a cell: each bucket holds those below it, too. */
function samplesOf(
  labels: Partial<Record<Label, string | number>>,
  { counts, sum }: Cell,
): MetricValueWithName<Label>[] {
  let total = 0;
  const buckets = counts.map((count, at) => {
    total += count;
    return { metricName: `${NAME}_bucket`, labels: { ...labels, le: BOUNDS[at] ?? '+Inf' }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: total },
  ];
}
