"""What all operators' frames share."""
