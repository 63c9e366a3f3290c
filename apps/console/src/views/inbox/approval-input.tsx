import { Link } from '../../components/basics';
import { withoutHidden } from '../../format';
import { type Approval, itemOf } from './inbox';

const MAX_SHOWN = 20_000;

const textOf = ({ input }: Approval): string => withoutHidden(JSON.stringify(input, null, 2));

/** How much of an input a user sees before a decision: some are too long for a list, and others for the service. */
export function visibilityOf(approval: Approval, isComplete: boolean): 'all' | 'beginning' | 'nothing' {
  if (approval.input === undefined) return 'all';
  const { truncated } = approval.input as { readonly truncated?: unknown };
  if (truncated === true) return 'nothing';
  return !isComplete && textOf(approval).length > MAX_SHOWN ? 'beginning' : 'all';
}

/** The command, the path or the other arguments that a user allows. `isComplete`: however long it is. */
export function ApprovalInput({
  approval,
  isComplete = false,
}: {
  readonly approval: Approval;
  readonly isComplete?: boolean;
}) {
  if (approval.input === undefined) return null;
  const text = textOf(approval);
  const isCut = visibilityOf(approval, isComplete) === 'beginning';
  return (
    <>
      <pre tabIndex={0}>{isCut ? text.slice(0, MAX_SHOWN) : text}</pre>
      {isCut && (
        <p>
          Only the beginning is shown, and it can be allowed where all of it is shown.{' '}
          <Link to={`inbox?item=${itemOf(approval)}`}>Show all of the input</Link>
        </p>
      )}
    </>
  );
}
