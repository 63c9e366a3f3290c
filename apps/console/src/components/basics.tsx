import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { absoluteTime, relativeTime } from '../format';
import { hrefOf, path } from '../router';
import { useOperation } from './operation';
import { waitingCount } from '../views/inbox/inbox';

/** The class of a badge; empty: the color of the text. */
export type Look = 'good' | 'bad' | 'off' | 'wait' | 'busy' | 'queue' | '';

const LOOK: Readonly<Record<string, Look>> = {
  SUCCEEDED: 'good',
  FAILED: 'bad',
  ERROR: 'bad',
  CANCELLED: 'off',
  BLOCKED: 'wait',
  INPROGRESS: 'busy',
  CLAIMED: 'busy',
  PENDING: 'queue',
  QUEUED: 'queue',
};
const LABEL: Readonly<Record<string, string>> = { INPROGRESS: 'In progress' };

/** For people who see the states for the first time. */
export const STATE_MEANING: Readonly<Record<string, string>> = {
  QUEUED: 'Waits for a slot',
  PENDING: 'Has a slot, and waits for a worker',
  CLAIMED: 'A worker has it, and prepares the workspace',
  INPROGRESS: 'The agent works',
  BLOCKED: 'Waits for a person',
  SUCCEEDED: 'The agent has ended its turn',
  FAILED: 'The agent or its set-up failed',
  ERROR: 'The platform failed',
  CANCELLED: 'A person has stopped it',
};

export const stateLabel = (state: string): string => LABEL[state] ?? state.charAt(0) + state.slice(1).toLowerCase();

interface BadgeProps {
  readonly look: Look;
  readonly children: ComponentChildren;
  readonly [attribute: `data-${string}`]: string;
}

export const Badge = ({ look, children, ...data }: BadgeProps) => (
  <span class={`badge ${look}`} {...data}>
    <span class="dot" aria-hidden="true" />
    {children}
  </span>
);

export const StateBadge = ({ state }: { readonly state: string }) => (
  <Badge look={LOOK[state] ?? ''} data-state={state}>
    {stateLabel(state)}
  </Badge>
);

/** One timer for all relative times of the page. */
const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 10_000);

/** What has just happened is not in the future because the timer is late. */
const MAX_SKEW_MS = 15_000;

export function Time({ at }: { readonly at: string }) {
  const time = Date.parse(at);
  const isSkew = time > now.value && time - now.value < MAX_SKEW_MS;
  return (
    <time dateTime={at} title={absoluteTime(at)}>
      {relativeTime(time, isSkew ? time : now.value)}
    </time>
  );
}

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  readonly children: ComponentChildren;
  /** Marks the link while the current path begins with it. */
  readonly isNavigation?: boolean;
}

export function Link({ to, children, isNavigation = false, ...rest }: LinkProps) {
  const [target = ''] = to.split('?');
  // The start page is the list of runs.
  const shown = path.value === '' ? 'runs' : path.value;
  const isCurrent = isNavigation && (shown === target || shown.startsWith(`${target}/`));
  return (
    <a href={hrefOf(to)} {...rest} {...(isCurrent ? { 'aria-current': 'page' as const } : {})}>
      {children}
    </a>
  );
}

interface ActionProps {
  readonly run: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly disabled?: boolean;
  /** Asked before it is executed. */
  readonly confirm?: string;
}

/** A button that is disabled while its action is executed, and shows why it failed. */
export function Action({ run, children, class: className = '', disabled = false, confirm: question }: ActionProps) {
  const { isBusy, failure, execute } = useOperation();
  const click = (): void => {
    if (question === undefined || confirm(question)) void execute(run);
  };
  return (
    <span class="action">
      <button type="button" class={className} disabled={disabled || isBusy} onClick={click}>
        {children}
      </button>
      {failure !== '' && (
        <span role="alert" class="failure">
          {failure}
        </span>
      )}
    </span>
  );
}

export const Failure = ({ message }: { readonly message: string }) =>
  message === '' ? null : (
    <p role="alert" class="failure block">
      {message}
    </p>
  );

interface EmptyProps {
  readonly title: string;
  /** Nothing else is on the page. */
  readonly isPage?: boolean;
  readonly children?: ComponentChildren;
}

export const Empty = ({ title, isPage = false, children }: EmptyProps) => (
  <div class="empty">
    {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
    {children}
  </div>
);

export function usePageTitle(title: string): void {
  const waiting = waitingCount.value;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title} · Headrace`;
  }, [title, waiting]);
}
