import type { Schemas } from '../../api/client';
import { Link } from '../../components/basics';
import { absoluteTime } from '../../format';
import { query, setQuery } from '../../router';

type Schedule = Schemas['ScheduledAgentItem'];

const HOUR_MS = 3_600_000;
const WINDOWS = [
  { id: 'day', label: '24 hours', hours: 24, marks: 4 },
  { id: 'week', label: '7 days', hours: 7 * 24, marks: 7 },
] as const;
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' });

/**
 * The next due times of all schedules. The API returns five for each: a line after the fifth says that more follow in the
 * window.
 */
export function DueTimes({ schedules }: { readonly schedules: readonly Schedule[] }) {
  const window = WINDOWS.find(({ id }) => id === query.value.get('window')) ?? WINDOWS[0];
  const start = Date.now();
  const length = window.hours * HOUR_MS;
  const rows = schedules.flatMap((schedule) => {
    const upcoming = schedule.enabled ? (schedule.history.upcoming ?? []) : [];
    const due = upcoming.filter((at) => Date.parse(at) - start < length);
    return due.length === 0 ? [] : [{ schedule, due, isCut: due.length === upcoming.length }];
  });
  const percent = (ms: number): string => `${Math.min(100, Math.max(0, (ms / length) * 100)).toFixed(2)}%`;
  const marks = Array.from({ length: window.marks }, (_, index) => (length / window.marks) * index);
  return (
    <section class="card due" aria-labelledby="due-times">
      <div class="head">
        <h2 id="due-times">Next {window.label}</h2>
        <span class="muted">in your time zone, {ZONE}</span>
        <div class="chips" role="group" aria-label="Window">
          {WINDOWS.map(({ id, label }, index) => (
            <button
              type="button"
              class="chip"
              key={id}
              aria-pressed={id === window.id}
              onClick={() => setQuery({ window: index === 0 ? null : id })}
            >
              {label}
            </button>
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="muted">No schedule is due in this time.</p>}
      <ul>
        {rows.map(({ schedule: { id, name }, due, isCut }) => (
          <li key={id}>
            <Link to={`schedules/${id}`}>{name}</Link>
            <span class="hidden">
              {due.map(absoluteTime).join(', ')}
              {isCut && ', and more after that'}
            </span>
            <svg aria-hidden="true">
              <line x1="0" x2="100%" y1="50%" y2="50%" />
              {isCut && (
                <line class="more" x1={percent(Date.parse(due.at(-1) ?? '') - start)} x2="100%" y1="50%" y2="50%" />
              )}
              {due.map((at) => (
                <circle key={at} cx={percent(Date.parse(at) - start)} cy="50%" r="5">
                  <title>{absoluteTime(at)}</title>
                </circle>
              ))}
            </svg>
          </li>
        ))}
      </ul>
      {rows.length > 0 && (
        <svg class="scale" aria-hidden="true">
          {marks.map((offset) => (
            <text key={offset} x={percent(offset)} y="1em">
              {(window.id === 'day' ? CLOCK : DAY).format(start + offset)}
            </text>
          ))}
        </svg>
      )}
    </section>
  );
}
