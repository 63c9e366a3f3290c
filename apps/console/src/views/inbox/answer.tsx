import { Action } from '../../components/basics';
import { Field, FieldGroup, Form } from '../../components/form';
import { textOf } from '../../components/operation';
import { withoutHidden } from '../../format';
import type { Approval, DecisionBody } from './inbox';

interface AnswerProps {
  readonly question: Approval;
  readonly decide: (body: DecisionBody) => Promise<void>;
}

export function Answer({ question: { options, allow_text: allowsText }, decide }: AnswerProps) {
  const send = (data: FormData): Promise<void> => {
    const [option, text] = [textOf(data, 'option'), textOf(data, 'text').trim()];
    return decide({
      decision: 'answer',
      ...(option !== '' && { option_id: option }),
      ...(text !== '' && { text }),
    });
  };
  return (
    <Form
      submit="Answer"
      send={send}
      actions={
        <Action class="danger" run={() => decide({ decision: 'deny' })}>
          Decline
        </Action>
      }
    >
      {options.length > 0 && (
        <FieldGroup label="Option" pointer="/option_id">
          {options.map(({ option_id: id, name }) => (
            <label class="check" key={id}>
              <input type="radio" name="option" value={id} required={allowsText !== true} />
              <bdi>{withoutHidden(name)}</bdi>
            </label>
          ))}
        </FieldGroup>
      )}
      {allowsText === true && (
        <Field label={options.length > 0 ? 'Text, instead of an option or with it' : 'Text'} pointer="/text">
          {(control) => <textarea {...control} name="text" rows={3} required={options.length === 0} />}
        </Field>
      )}
    </Form>
  );
}
