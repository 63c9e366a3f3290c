import { signal } from '@preact/signals';
import { api, content, messageOf, type Schemas } from '../../api/client';
import type { RunQuery } from './filters';

export type Run = Schemas['RunItem'];

const PAGE = 50;
/** How many rows are read again to show their states. */
const MAX_LIVE = 200;
const REFRESH_MS = 2000;

/** Whether a row shows the same. */
const isSame = (a: Run, b: Run): boolean =>
  a.updated_at === b.updated_at &&
  a.state === b.state &&
  a.title === b.title &&
  a.creator?.display_name === b.creator?.display_name;

/** The runs that match a filter, newest first. Those that are shown are read again while the page is visible. */
export class RunList {
  readonly runs = signal<readonly Run[] | undefined>(undefined);
  readonly hasMore = signal(false);
  readonly isLoading = signal(false);
  readonly failure = signal('');
  private cursor: string | undefined;
  private filter: RunQuery = {};
  private reading = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  /** Shows the runs of this filter. What was shown stays until they are there. */
  async show(filter: RunQuery): Promise<void> {
    this.filter = filter;
    this.cursor = undefined;
    await this.refresh();
  }

  async more(): Promise<void> {
    // Without a cursor, the first runs of another filter are being read.
    if (!this.hasMore.value || this.cursor === undefined) return;
    // It replaces a refresh, which is repeated later.
    const isCurrent = await this.read(async (signal) => {
      const page = await this.page(this.cursor, signal);
      const known = new Set((this.runs.value ?? []).map(({ run_id: id }) => id));
      this.runs.value = [...(this.runs.value ?? []), ...page.runs.filter(({ run_id: id }) => !known.has(id))];
      this.remember(page);
    });
    if (isCurrent) this.schedule();
  }

  async refresh(): Promise<void> {
    clearTimeout(this.timer);
    const isCurrent = await this.read(async (signal) => {
      const shown = this.runs.value ?? [];
      const isFirst = this.cursor === undefined || shown.length <= PAGE;
      const page = await this.page(undefined, signal, isFirst ? PAGE : Math.min(shown.length, MAX_LIVE));
      const known = new Map(shown.map((run) => [run.run_id, run]));
      const fresh = new Set(page.runs.map(({ run_id: id }) => id));
      const isAll = isFirst || !page.page_info.has_next_page;
      // Older rows were not read again. Others that are missing do not match the filter any more.
      const oldest = Date.parse(page.runs.at(-1)?.created_at ?? '');
      const isOlder = (run: Run): boolean => Date.parse(run.created_at) <= oldest && !fresh.has(run.run_id);
      const rest = isAll ? [] : shown.filter(isOlder);
      // A row whose run is the same object is not rendered again.
      const current = page.runs.map((run) => {
        const before = known.get(run.run_id);
        return before !== undefined && isSame(before, run) ? before : run;
      });
      this.runs.value = [...current, ...rest];
      if (isAll) this.remember(page);
    });
    if (isCurrent) this.schedule();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.reading.abort();
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.isClosed) return;
    const isBusy = (): boolean => document.hidden || this.isLoading.value;
    this.timer = setTimeout(() => (isBusy() ? this.schedule() : void this.refresh()), REFRESH_MS);
  }

  private remember({ page_info: page }: Schemas['ListRunsResponse']): void {
    this.hasMore.value = page.has_next_page;
    this.cursor = page.next_cursor;
  }

  private page(cursor: string | undefined, signal: AbortSignal, limit = PAGE): Promise<Schemas['ListRunsResponse']> {
    const query = { limit, sort_by: 'created_at' as const, ...this.filter, ...(cursor !== undefined && { cursor }) };
    return content(api.GET('/agent/runs', { params: { query }, signal }));
  }

  /** A later request replaces the one before. Resolves to whether no other one has. */
  private async read(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    this.reading.abort();
    const reading = new AbortController();
    this.reading = reading;
    this.isLoading.value = true;
    try {
      await work(reading.signal);
      this.failure.value = '';
    } catch (error) {
      if (!reading.signal.aborted) this.failure.value = messageOf(error);
    } finally {
      if (this.reading === reading) this.isLoading.value = false;
    }
    return this.reading === reading && !this.isClosed;
  }
}
