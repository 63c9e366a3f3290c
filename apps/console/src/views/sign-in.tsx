import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { messageOf } from '../api/client';
import { Failure, usePageTitle } from '../components/basics';
import { textOf } from '../components/operation';
import icon from '../icon.svg';
import { navigate, path } from '../router';
import { principal, signIn } from '../session';

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
      if (!principal.value)
        failure.value = 'The browser has not kept the cookie. Open the console at the address of PUBLIC_URL.';
    } catch (error) {
      failure.value = messageOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  // A link alone signs nobody in: it could be the link of another person.
  const code = useSignal<string | null>(null);
  useEffect(() => {
    const take = (): void => {
      code.value = takeCode() ?? code.value;
    };
    take();
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  return (
    <main class="sign-in">
      <div class="card">
        <img src={icon} alt="" />
        <h1>Sign in to Headrace</h1>
        {code.value !== null && (
          <>
            {principal.value && (
              <p>You are signed in as {principal.value.display_name}. The link replaces this session.</p>
            )}
            <button
              type="button"
              class="primary"
              disabled={isBusy.value}
              onClick={() => code.value !== null && void enter({ login_code: code.value })}
            >
              Sign in with this link
            </button>
          </>
        )}
        <p class="muted">
          Open a link that <code>headrace login-link</code> prints, or use a token of yours.
        </p>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            void enter({ token: textOf(new FormData(event.currentTarget), 'token').trim() });
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
