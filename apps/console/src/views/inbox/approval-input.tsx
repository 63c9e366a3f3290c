import { Link } from '../../components/basics';
import { withoutHidden } from '../../format';
import { type Approval, itemOf } from './inbox';

const MAX_SHOWN = 20_000;

/** The command, the path or the other arguments that a user allows. `isComplete`: however long it is. */
export function ApprovalInput({
  approval,
  isComplete = false,
}: {
  readonly approval: Approval;
  readonly isComplete?: boolean;
}) {
  if (approval.input === undefined) return null;
  const text = withoutHidden(JSON.stringify(approval.input, null, 2));
  const isCut = !isComplete && text.length > MAX_SHOWN;
  return (
    <>
      <pre tabIndex={0}>{isCut ? text.slice(0, MAX_SHOWN) : text}</pre>
      {isCut && (
        <p>
          Only the beginning is shown. <Link to={`inbox?item=${itemOf(approval)}`}>Show all of the input</Link>
        </p>
      )}
    </>
  );
}
