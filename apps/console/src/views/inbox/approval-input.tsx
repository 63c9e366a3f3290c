import { Link } from '../../components/basics';
import { withoutHidden } from '../../format';
import { type Approval, itemOf } from './inbox';

const MAX_SHOWN = 20_000;

const textOf = ({ input }: Approval): string => withoutHidden(JSON.stringify(input, null, 2));

const isLeftOut = ({ input }: Approval): boolean =>
  typeof input === 'object' && input !== null && (input as { readonly truncated?: unknown }).truncated === true;

/** How much of an input a user sees before a decision: some are too long for a list, and others for the service. */
export function visibilityOf(approval: Approval, isComplete: boolean): 'all' | 'beginning' | 'nothing' {
  if (approval.input === undefined) return 'all';
  // Lists leave out large inputs, which the page of the request may have.
  if (isLeftOut(approval)) return isComplete ? 'nothing' : 'beginning';
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
      {!isLeftOut(approval) && <pre tabIndex={0}>{isCut ? text.slice(0, MAX_SHOWN) : text}</pre>}
      {isLeftOut(approval) && isComplete && <p>The input is too long to be shown.</p>}
      {isCut && (
        <p>
          Not all of the input is shown here. It can be allowed where all of it is shown.{' '}
          <Link to={`inbox?item=${itemOf(approval)}`}>Show all of the input</Link>
        </p>
      )}
    </>
  );
}
