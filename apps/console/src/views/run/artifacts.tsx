import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content, messageOf, type Schemas } from '../../api/client';
import { API_URL } from '../../base';
import { Failure } from '../../components/basics';
import { Markdown } from '../../components/markdown';
import { bytes } from '../../format';

type Artifact = NonNullable<Schemas['RunItem']['artifacts']>[number];

/** Shown as images. SVG is not among them: it is a document, which is downloaded. */
const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

const downloadUrl = (uid: string): string => `${API_URL}/agent/artifacts/${encodeURIComponent(uid)}/download`;
const isWebUrl = (url: string | undefined): url is string => url !== undefined && /^https?:\/\//i.test(url);

/** What the run has made. Their texts and names are those of the agent. */
export const Artifacts = ({ artifacts }: { readonly artifacts: readonly Artifact[] }) => (
  <section class="artifacts" aria-label="Artifacts">
    <h2>Artifacts</h2>
    {artifacts.map((artifact, index) => (
      <ArtifactView key={index} artifact={artifact} />
    ))}
  </section>
);

function ArtifactView({ artifact }: { readonly artifact: Artifact }) {
  switch (artifact.artifact_type) {
    case 'PLAN':
      return <PlanArtifact uid={artifact.data.artifact_uid ?? ''} title={artifact.data.title ?? 'Plan'} />;
    case 'PULL_REQUEST': {
      const { url, branch, status } = artifact.data;
      return (
        <p class="note">
          Pull request <External url={url} text={url} /> <code>{branch}</code> {status}
        </p>
      );
    }
    case 'EXTERNAL_REFERENCE': {
      const { url, title, reference_type: type } = artifact.data;
      return (
        <p class="note">
          <bdi>{type}</bdi> <External url={url} text={title ?? url} />
        </p>
      );
    }
    case 'SCREENSHOT': {
      const { artifact_uid: uid, mime_type: type, description } = artifact.data;
      return <FileView uid={uid} name={description ?? 'Screenshot'} type={type} size={undefined} />;
    }
    case 'FILE':
    case 'DIFF': {
      const { artifact_uid: uid, mime_type: type, filename, title, size_bytes: size } = artifact.data;
      return <FileView uid={uid} name={title ?? filename} type={type} size={size} />;
    }
  }
}

const External = ({ url, text }: { readonly url: string; readonly text: string }) =>
  isWebUrl(url) ? (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      <bdi>{text}</bdi>
    </a>
  ) : (
    <bdi>{text}</bdi>
  );

interface FileViewProps {
  readonly uid: string;
  readonly name: string;
  readonly type: string;
  readonly size: number | undefined;
}

function FileView({ uid, name, type, size }: FileViewProps) {
  const isBroken = useSignal(false);
  const isImage = IMAGES.has(type.toLowerCase()) && (size ?? 0) <= MAX_IMAGE_BYTES && !isBroken.value;
  return (
    <figure class="artifact">
      {isImage && (
        <img
          src={downloadUrl(uid)}
          alt={name}
          loading="lazy"
          decoding="async"
          onError={() => {
            isBroken.value = true;
          }}
        />
      )}
      <figcaption>
        <a href={downloadUrl(uid)} download>
          <bdi>{name}</bdi>
        </a>{' '}
        <span class="muted">
          <bdi>{type}</bdi>
          {size !== undefined && `, ${bytes(size)}`}
        </span>
      </figcaption>
    </figure>
  );
}

function PlanArtifact({ uid, title }: { readonly uid: string; readonly title: string }) {
  const text = useSignal<string | null>(null);
  const failure = useSignal('');
  const isOpen = useSignal(false);
  useEffect(() => {
    if (!isOpen.value || text.value !== null) return;
    content(api.GET('/agent/artifacts/{artifactUid}', { params: { path: { artifactUid: uid } } })).then(
      (found) => {
        text.value = found.artifact_type === 'PLAN' ? found.data.content : '';
      },
      (error: unknown) => {
        failure.value = messageOf(error);
      },
    );
  }, [isOpen.value]);
  return (
    <details class="call card" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>
        <bdi>{title}</bdi>
      </summary>
      <div class="inside">
        {text.value !== null && <Markdown text={text.value} />}
        <Failure message={failure.value} />
      </div>
    </details>
  );
}
