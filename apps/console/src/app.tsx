import { Component, type ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { messageOf } from './api/client';
import icon from './icon.svg';
import { Action, Empty, Failure, Link } from './components/basics';
import { followLink, path, hrefOf } from './router';
import { connectionFailure, loadPrincipal, principal, selectTeam, signOut, team } from './session';
import { InvitationPage, SECTIONS, SignInPage } from './sections';
import { type Theme, theme, THEMES } from './theme';
import { waitingCount } from './views/inbox/inbox';

export function App() {
  useEffect(() => {
    void loadPrincipal();
  }, []);
  if (path.value === 'invitation') return <InvitationPage />;
  if (path.value === 'sign-in' || principal.value === null) return <SignInPage />;
  if (principal.value === undefined)
    return connectionFailure.value === '' ? (
      <p class="empty" role="status">
        Loading …
      </p>
    ) : (
      <main class="empty">
        <h1>Headrace cannot be reached</h1>
        <Failure message={connectionFailure.value} />
        <Action run={loadPrincipal}>Try again</Action>
      </main>
    );
  return (
    // Links work without this handler; it saves loading the page again.
    <div class="frame" onClick={followLink}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Side />
      <main id="main" tabIndex={-1}>
        <ErrorBoundary key={`${team.value ?? ''} ${path.value}`}>
          <View />
        </ErrorBoundary>
      </main>
    </div>
  );
}

/** A view that cannot be shown leaves the rest of the console usable. */
class ErrorBoundary extends Component<{ readonly children: ComponentChildren }, { readonly failure: string }> {
  override state = { failure: '' };

  static override getDerivedStateFromError(error: unknown): { readonly failure: string } {
    return { failure: messageOf(error) };
  }

  override render() {
    const { failure } = this.state;
    return failure === '' ? (
      this.props.children
    ) : (
      <Empty title="This page cannot be shown" isPage>
        <p>{failure}</p>
      </Empty>
    );
  }
}

function View() {
  const [first = '', id, ...rest] = path.value.split('/');
  const section = SECTIONS.find((known) => known.path === (first === '' ? 'runs' : first));
  if (section !== undefined && id === undefined) return <section.list key={team.value} />;
  if (section?.item !== undefined && id !== undefined && rest.length === 0)
    return <section.item key={`${team.value ?? ''} ${id}`} id={id} />;
  return (
    <Empty title="Page not found" isPage>
      <Link to="runs">Show the runs</Link>
    </Empty>
  );
}

function Side() {
  const { display_name: name = '', email, memberships = [] } = principal.value ?? {};
  const waiting = waitingCount.value;
  return (
    <header class="side">
      <a class="brand" href={hrefOf('runs')}>
        <img src={icon} alt="" />
        Headrace
      </a>
      <nav aria-label="Sections">
        {SECTIONS.filter(({ isUnlisted }) => isUnlisted !== true).map(({ path: to, title }) => (
          <Link key={to} to={to} isNavigation>
            {title}
            {to === 'inbox' && waiting > 0 && (
              <span class="count" aria-label={`${waiting} waiting`}>
                {waiting}
              </span>
            )}
          </Link>
        ))}
      </nav>
      <div class="foot">
        {memberships.length > 1 && (
          <select
            aria-label="Team"
            value={team.value ?? ''}
            onChange={({ currentTarget }) => selectTeam(currentTarget.value)}
          >
            {memberships.map(({ team_uid: uid, team_name: label }) => (
              <option value={uid}>{label}</option>
            ))}
          </select>
        )}
        <span class="person" title={email}>
          {name}
        </span>
        <select
          aria-label="Theme"
          value={theme.value}
          onChange={({ currentTarget }) => {
            theme.value = currentTarget.value as Theme;
          }}
        >
          {THEMES.map((known) => (
            <option value={known}>{known === 'system' ? 'System theme' : known === 'light' ? 'Light' : 'Dark'}</option>
          ))}
        </select>
        <Action run={signOut}>Sign out</Action>
      </div>
    </header>
  );
}
