import type { ComponentType } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { messageOf } from '../api/client';
import { Failure } from './basics';

/** A component whose script is loaded when it is first shown. */
export function loaded<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let component: ComponentType<Props> | undefined;
  return function Loaded(props: Props) {
    const failure = useSignal('');
    const isLoaded = useSignal(component !== undefined);
    useEffect(() => {
      if (component !== undefined) return;
      load().then(
        (found) => {
          component = found;
          isLoaded.value = true;
        },
        (error: unknown) => {
          // After an update of the server the scripts of the earlier version do not exist.
          failure.value = `This part could not be loaded. Load the console again. ${messageOf(error)}`;
        },
      );
    }, []);
    const View = component;
    if (isLoaded.value && View !== undefined) return <View {...props} />;
    return failure.value === '' ? <p role="status">Loading …</p> : <Failure message={failure.value} />;
  };
}
