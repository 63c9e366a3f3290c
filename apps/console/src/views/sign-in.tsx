import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { messageOf } from '../api/client';
import { Failure, usePageTitle } from '../components/basics';
import icon from '../icon.svg';
import { navigate, path } from '../router';
import { loadPrincipal, principal, signIn } from '../session';

/** The code of a link is in the fragment; it leaves the address bar before it is used. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

export function SignInPage() {
  const failure = useSignal('');
  const isBusy = useSignal(false);
  usePageTitle('Sign in');
  const enter = async (body: { login_code?: string; token?: string }): Promise<void> => {
    isBusy.value = true;
    failure.value = '';
    try {
      await signIn(body);
      if (principal.value && path.value === 'sign-in') navigate('runs', { replace: true });
    } catch (error) {
      failure.value = messageOf(error);
      // A user who is signed in already needs no second link.
      if (principal.value === undefined) await loadPrincipal();
    } finally {
      isBusy.value = false;
    }
  };
  useEffect(() => {
    const code = takeCode();
    if (code !== null) void enter({ login_code: code });
  }, []);
  return (
    <main class="sign-in">
      <div class="card">
        <img src={icon} alt="" />
        <h1>Sign in to Headrace</h1>
        <p class="muted">
          Open a link that <code>headrace login-link</code> prints, or use a token of yours.
        </p>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            const token = new FormData(event.currentTarget).get('token');
            if (typeof token === 'string') void enter({ token: token.trim() });
          }}
        >
          <div class="field">
            <label for="token">Token</label>
            <input id="token" name="token" type="password" autoComplete="off" required />
          </div>
          <Failure message={failure.value} />
          <button class="primary" disabled={isBusy.value}>
            {isBusy.value ? 'Signing in …' : 'Sign in'}
          </button>
        </form>
        {principal.value && (
          <a
            href="runs"
            onClick={(event) => {
              event.preventDefault();
              navigate('runs');
            }}
          >
            Continue as {principal.value.display_name}
          </a>
        )}
      </div>
    </main>
  );
}
