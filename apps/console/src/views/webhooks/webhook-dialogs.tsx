import { api, ApiProblem, content } from '../../api/client';
import { DialogForm, Field } from '../../components/form';
import { textOf } from '../../components/operation';
import { setQuery } from '../../router';
import { secretSource, type Webhook } from './providers';

const SAMPLE = JSON.stringify({ event: 'test', message: 'This is a test delivery of Headrace.' }, null, 2);

interface SendTestProps {
  readonly factoryUid: string;
  readonly uid: string;
  readonly onClose: () => void;
}

export function SendTest({ factoryUid, uid, onClose }: SendTestProps) {
  const send = async (data: FormData): Promise<void> => {
    const { delivery_id: id } = await content(
      api.POST('/factories/{factoryUid}/webhooks/{uid}/test', {
        params: { path: { factoryUid, uid } },
        body: { payload: payloadOf(textOf(data, 'payload')) },
      }),
    );
    setQuery({ tab: null, outcome: null, delivery: id });
  };
  return (
    <DialogForm title="Send a test delivery" submit="Send" send={send} onClose={onClose}>
      <p>
        Headrace stores it as an accepted delivery: automations that match start runs. The address and the secret of the
        sender are not tested.
      </p>
      <Field label="Body" pointer="/payload" hint="Any JSON value.">
        {(control) => <textarea {...control} name="payload" class="code" rows={8} defaultValue={SAMPLE} />}
      </Field>
    </DialogForm>
  );
}

function payloadOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    const detail = `The body is not JSON: ${String(error)}`;
    throw new ApiProblem(0, detail, [{ pointer: '/payload', detail }]);
  }
}

interface RotateProps {
  readonly factoryUid: string;
  readonly webhook: Webhook;
  readonly onClose: () => void;
  readonly onRotated: (webhook: Webhook) => Promise<void>;
}

export function RotateSecret({ factoryUid, webhook, onClose, onRotated }: RotateProps) {
  const isSigned = webhook.auth_mode === 'signature';
  const source = isSigned ? secretSource(webhook.signature_scheme ?? '') : 'generated';
  const isOptional = source === 'generated' || webhook.secret_pending === true;
  const rotate = async (data: FormData): Promise<void> => {
    const secret = textOf(data, 'secret');
    const params = { path: { factoryUid, uid: webhook.uid } };
    const body = secret === '' ? {} : { secret };
    await onRotated(await content(api.POST('/factories/{factoryUid}/webhooks/{uid}/rotate-secret', { params, body })));
  };
  return (
    <DialogForm
      title={webhook.secret_missing === true ? 'Set the secret' : 'Rotate the secret'}
      submit={webhook.secret_missing === true ? 'Set secret' : 'Rotate secret'}
      send={rotate}
      onClose={onClose}
    >
      <p>The previous secret becomes invalid at once. The new one is shown once.</p>
      {isSigned && (
        <Field
          label="Secret of the sender"
          hint={
            webhook.secret_pending === true
              ? 'Empty: the secret of the handshake is confirmed.'
              : isOptional
                ? 'Empty: Headrace generates it.'
                : 'As the sender displays it.'
          }
          pointer="/secret"
        >
          {(control) => <input {...control} name="secret" autocomplete="off" required={!isOptional} />}
        </Field>
      )}
    </DialogForm>
  );
}
