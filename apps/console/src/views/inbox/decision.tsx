import { Action } from '../../components/basics';
import { visibilityOf } from './approval-input';
import { withoutHidden } from '../../format';
import { Answer } from './answer';
import { type Approval, type DecisionBody, mayDecide } from './inbox';

interface DecisionProps {
  readonly approval: Approval;
  /** Whether all of the input is shown, however long it is. */
  readonly isComplete?: boolean;
  readonly decide: (body: DecisionBody) => Promise<void>;
}

const UNSEEN = 'The input is too long to be shown, so that you cannot see what you allow. Allow it all the same?';

/** What an answer for always covers, as docs/approvals.md defines it. */
function scopeOf({ subject }: Approval): string {
  const value = withoutHidden(subject?.value ?? '');
  const by = subject?.tool === undefined ? '' : ` by the tool ${withoutHidden(subject.tool)}`;
  switch (subject?.type) {
    case 'command':
      return `exactly this command${by}`;
    case 'address':
      return `every request to ${value}${by}`;
    case 'tool':
      return `every use of the tool ${value}, whatever its input`;
    case 'kind':
      return `every action of the kind ${value}, whatever its input`;
    default:
      return `every request with this title${by}, whatever its input`;
  }
}

/** The answers to a permission request or a question, for users who may give them. Only what is shown can be allowed without a question. */
export function Decision({ approval, isComplete = false, decide }: DecisionProps) {
  if (!mayDecide()) return null;
  if (approval.kind === 'question') return <Answer question={approval} decide={decide} />;
  const visible = visibilityOf(approval, isComplete);
  return (
    <>
      {visible !== 'beginning' && (
        <Action
          class="primary"
          {...(visible === 'nothing' && { confirm: UNSEEN })}
          run={() => decide({ decision: 'allow' })}
        >
          Allow
        </Action>
      )}
      {visible === 'all' && <Action run={() => decide({ decision: 'allow_always' })}>Always allow in this run</Action>}
      <Action class="danger" run={() => decide({ decision: 'deny' })}>
        Deny
      </Action>
      {visible === 'all' && <span class="muted">“Always” allows {scopeOf(approval)}.</span>}
    </>
  );
}
