import type { Schemas } from '../../api/client';
import { Action } from '../../components/basics';
import { mayDecide } from './inbox';

interface DecisionProps {
  readonly decide: (decision: Schemas['ApprovalDecision']) => Promise<void>;
}

/** The answers to a permission request, for users who may give them. */
export const Decision = ({ decide }: DecisionProps) =>
  mayDecide() ? (
    <>
      <Action class="primary" run={() => decide('allow')}>
        Allow
      </Action>
      <Action run={() => decide('allow_always')}>Always allow in this run</Action>
      <Action class="danger" run={() => decide('deny')}>
        Deny
      </Action>
    </>
  ) : null;
