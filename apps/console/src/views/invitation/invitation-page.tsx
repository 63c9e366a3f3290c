import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content, messageOf, type Schemas } from '../../api/client';
import { Failure, Link, Time, usePageTitle } from '../../components/basics';
import { textOf, useOperation } from '../../components/operation';
import icon from '../../icon.svg';
import { followLink, navigate } from '../../router';
import { acceptInvitation, principal } from '../../session';
import { consumeCode } from '../sign-in';
import { ROLE_PERMITS } from '../team/roles';

interface Opened {
  readonly code: string;
  readonly offer: Schemas['InvitationOffer'];
}

/** The page of an invitation: what it offers, and to whom. A link alone accepts nothing. */
export function InvitationPage() {
  const opened = useSignal<Opened | null>(null);
  const failure = useSignal('');
  usePageTitle('Invitation');
  useEffect(() => {
    const open = async (): Promise<void> => {
      const code = consumeCode();
      if (code === null) {
        if (opened.value === null) failure.value = 'Open the whole link of the invitation, with what follows after #.';
        return;
      }
      opened.value = null;
      failure.value = '';
      try {
        opened.value = { code, offer: await content(api.POST('/invitations/lookup', { body: { code } })) };
      } catch (error) {
        failure.value = messageOf(error);
      }
    };
    const openNow = (): void => void open();
    openNow();
    addEventListener('hashchange', openNow);
    return () => removeEventListener('hashchange', openNow);
  }, []);
  return (
    <main class="sign-in" onClick={followLink}>
      <div class="card">
        <img src={icon} alt="" />
        {opened.value === null ? (
          <>
            <h1>Invitation</h1>
            {failure.value === '' ? <p role="status">Loading …</p> : <Failure message={failure.value} />}
            <Link to="sign-in">Sign in</Link>
          </>
        ) : (
          <Offer key={opened.value.code} {...opened.value} />
        )}
      </div>
    </main>
  );
}

function Offer({ code, offer }: Opened) {
  const operation = useOperation();
  const { team_name: teamName, role, email, invited_by: invitedBy, expires_at: expires } = offer;
  const user = principal.value;
  const isSame = user?.email?.toLowerCase() === email.toLowerCase();
  const accept = async (form: HTMLFormElement): Promise<void> => {
    const name = textOf(new FormData(form), 'name').trim();
    await acceptInvitation({ code, ...(name !== '' && { display_name: name }) });
    navigate('runs', { replace: true });
  };
  return (
    <>
      <h1>Join {teamName}</h1>
      <p>
        <strong>{invitedBy}</strong> invites <strong>{email}</strong> with the role <strong>{role}</strong>: you{' '}
        {ROLE_PERMITS[role]}.
      </p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          void operation.execute(() => accept(form));
        }}
      >
        {!isSame && (
          <div class="field">
            <label for="name">Your name</label>
            <input id="name" name="name" required maxLength={200} autoComplete="name" />
          </div>
        )}
        <Failure message={operation.failure} />
        <button class="primary" disabled={operation.isBusy}>
          {operation.isBusy
            ? 'Joining …'
            : isSame
              ? `Join as ${user?.display_name ?? email}`
              : 'Create account and join'}
        </button>
      </form>
      {user && !isSame && (
        <p class="muted">You are signed in as {user.display_name}. The new account replaces this session.</p>
      )}
      {!isSame && (
        <p class="muted">Do you have an account with this e-mail address? Sign in first, and open the link again.</p>
      )}
      <p class="muted">
        The link can be used once. It expires <Time at={expires} />.
      </p>
      {!isSame && <Link to="sign-in">Sign in with an account</Link>}
    </>
  );
}
