"""Published GPU policies as one plugin: one filters and assigns devices, the scores are blended."""

import numpy as np

from podwright.simulation.studies import gpu_policies as published


class BlendedGpuArgs(
    published.FragmentationGradientArgs, frozen=True, kw_only=True, rename="camel"
):
    """The weight of each policy."""

    fgd: int = 0
    best_fit: int = 0
    packing: int = 0
    dot_product: int = 0


class BlendedGpu(published.FragmentationGradientDescent):
    """Adds the scores of policies up; each is 0 to 100."""

    name = "BlendedGpu"
    Args = BlendedGpuArgs

    def __init__(self, args: BlendedGpuArgs) -> None:
        super().__init__(args)
        self._fgd = args.fgd
        weights = {
            published.BestFitGpu: args.best_fit,
            published.PackingGpu: args.packing,
            published.DotProductGpu: args.dot_product,
        }
        self._others = [(policy(), weight) for policy, weight in weights.items() if weight]
        for policy, _ in self._others:
            policy.devices = self.devices
        self._total = max(sum(weights.values()) + args.fgd, 1)

    def scores(self, given):
        """Return the weighted mean of the scores of the policies."""
        found = np.zeros(len(given.rows), dtype=np.int64)
        if self._fgd:
            found += self._fgd * super().scores(given)
        for policy, weight in self._others:
            found += weight * np.clip(policy.scores(given), 0, 100)
        return found // self._total

    def device_of_share(self, cycle, slot, left, request):
        """Return the device by fragments if they count, else the one with the least left."""
        policy = type(self) if self._fgd else published.FragmentationGradientDescent
        return super(policy, self).device_of_share(cycle, slot, left, request)
