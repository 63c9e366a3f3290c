import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content, messageOf } from '../api/client';
import { API_URL } from '../base';
import { Failure, usePageTitle } from '../components/basics';
import { textOf } from '../components/operation';
import { useResource } from '../components/resource';
import icon from '../icon.svg';
import { navigate, path, query } from '../router';
import { connectionFailure, principal, signIn, enterSession } from '../session';

/** The code of a link is in the fragment; it leaves the address bar before it is used. */
export function consumeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

const ASK_ADMINISTRATOR = 'Ask an administrator of this installation.';
/** Why the sign-in at the provider failed: the parameter `error` of the page. */
const REASONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    unreachable: 'The provider cannot be reached. Try again later.',
    denied: 'The provider has not confirmed the sign-in, or you have cancelled it.',
    invalid: 'The response of the provider is not valid. The log of the server has the reason.',
    expired: 'The sign-in has taken too long, or was started in another tab. Try again.',
    too_many: 'There were too many attempts to sign in. Try again in some minutes.',
    unknown_user: `You have no account here. ${ASK_ADMINISTRATOR}`,
    no_email: `The provider has not sent your e-mail address. ${ASK_ADMINISTRATOR}`,
    email_not_verified: 'The provider has not verified your e-mail address. Verify it there, and try again.',
    email_taken: `Another account here has your e-mail address. ${ASK_ADMINISTRATOR}`,
    disabled: `Your account is disabled. ${ASK_ADMINISTRATOR}`,
  }),
);

const reasonOf = (code: string | null): string =>
  code === null ? '' : (REASONS.get(code) ?? 'The sign-in at the provider failed. Try again.');

/** Where the user wanted to be: the page of the console that asked for the sign-in. */
const wantedPage = (): string =>
  path.value === 'sign-in' ? (query.value.get('return_to') ?? 'runs') : `${path.value}${location.search}`;

const NOT_KEPT = 'The browser has not kept the cookie. Open the console at the address of PUBLIC_URL.';

export function SignInPage() {
  const failure = useSignal(path.value === 'sign-in' ? reasonOf(query.value.get('error')) : '');
  const isBusy = useSignal(false);
  const options = useResource(() => content(api.GET('/sign-in-options')), '');
  usePageTitle('Sign in');
  const run = async (begin: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    failure.value = '';
    try {
      await begin();
      if (principal.value && path.value === 'sign-in') navigate(wantedPage(), { replace: true });
      if (!principal.value) failure.value = connectionFailure.value || NOT_KEPT;
    } catch (error) {
      failure.value = messageOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  const enter = (body: { login_code?: string; token?: string }): Promise<void> => run(() => signIn(body));
  // The provider has led the browser back.
  const hasReturned = path.value === 'sign-in' && query.value.has('signed_in');
  useEffect(() => {
    if (hasReturned) void run(enterSession);
  }, [hasReturned]);
  // A link alone signs nobody in: it could be the link of another person.
  const code = useSignal<string | null>(null);
  useEffect(() => {
    const take = (): void => {
      code.value = consumeCode() ?? code.value;
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
        <Failure message={failure.value || options.failure} />
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
        {options.data?.openid !== undefined && (
          <a class="button" href={`${API_URL}/sign-in/openid?return_to=${encodeURIComponent(wantedPage())}`}>
            Sign in with {options.data.openid.name}
          </a>
        )}
        <TokenForm isFolded={code.value !== null} isBusy={isBusy.value} enter={(token) => void enter({ token })} />
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

interface TokenFormProps {
  /** A link is there, which most people use. */
  readonly isFolded: boolean;
  readonly isBusy: boolean;
  readonly enter: (token: string) => void;
}

function TokenForm({ isFolded, isBusy, enter }: TokenFormProps) {
  const form = (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        enter(textOf(new FormData(event.currentTarget), 'token').trim());
      }}
    >
      <div class="field">
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autoComplete="off" required />
      </div>
      <button class="primary" disabled={isBusy}>
        {isBusy ? 'Signing in …' : 'Sign in'}
      </button>
    </form>
  );
  if (isFolded)
    return (
      <details>
        <summary>Use a token instead</summary>
        {form}
      </details>
    );
  return (
    <>
      <p class="muted">
        Open a link that <code>headrace login-link</code> prints, or use a token of yours.
      </p>
      {form}
    </>
  );
}
