import { signal } from '@preact/signals';
import { api, content, messageOf, type Schemas } from '../../api/client';

export type Run = Schemas['RunItem'];
export type Filter = Readonly<{ q: string; states: readonly string[]; schedule: string }>;

const PAGE = 50;
const REFRESH_MS = 2000;

/** The runs that match a filter, newest first. The first page is read again while the page is visible. */
export class RunList {
  readonly runs = signal<readonly Run[] | undefined>(undefined);
  readonly hasMore = signal(false);
  readonly isLoading = signal(false);
  readonly failure = signal('');
  private cursor: string | undefined;
  private filter: Filter = { q: '', states: [], schedule: '' };
  private reading = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  /** Shows the runs of this filter. What was shown stays until they are there. */
  async show(filter: Filter): Promise<void> {
    this.filter = filter;
    this.cursor = undefined;
    await this.refresh();
  }

  async more(): Promise<void> {
    if (this.isLoading.value || !this.hasMore.value) return;
    await this.read(async (signal) => {
      const page = await this.page(this.cursor, signal);
      const known = new Set((this.runs.value ?? []).map(({ run_id: id }) => id));
      this.runs.value = [...(this.runs.value ?? []), ...page.runs.filter(({ run_id: id }) => !known.has(id))];
      this.remember(page);
    });
  }

  async refresh(): Promise<void> {
    clearTimeout(this.timer);
    const isCurrent = await this.read(async (signal) => {
      const page = await this.page(undefined, signal);
      const isFirst = this.cursor === undefined || (this.runs.value?.length ?? 0) <= PAGE;
      const fresh = new Map(page.runs.map((run) => [run.run_id, run]));
      const rest = isFirst ? [] : (this.runs.value ?? []).filter(({ run_id: id }) => !fresh.has(id));
      this.runs.value = [...page.runs, ...rest];
      if (isFirst) this.remember(page);
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

  private page(cursor: string | undefined, signal: AbortSignal): Promise<Schemas['ListRunsResponse']> {
    const { q, states, schedule } = this.filter;
    const filters = {
      ...(q !== '' && { q }),
      ...(states.length > 0 && { state: states as Schemas['RunState'][] }),
      ...(schedule !== '' && { schedule_id: schedule }),
      ...(cursor !== undefined && { cursor }),
    };
    const query = { limit: PAGE, sort_by: 'created_at' as const, ...filters };
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
